// A file mapped read-only into memory until its owner is destroyed. Any thread may read it. If
// another program truncates the file while it is mapped, a read ends this program (SIGBUS): map
// only files that their writers replace, never rewrite.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::formats {

class MappedFile {
 public:
  // NotFound, PermissionDenied, or InvalidArgument when it is not a regular file. An empty file has
  // no bytes.
  static StatusOr<MappedFile> Open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace gp::formats
