// A file mapped read-only into memory; unmapped by its owner's end. Any thread may read it. A file
// that another program cuts short while it is mapped ends this program (SIGBUS): map only files
// that their writers replace, never rewrite.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::formats {

class MappedFile {
 public:
  // NotFound, PermissionDenied, or InvalidArgument for a directory; an empty file maps to no bytes.
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
