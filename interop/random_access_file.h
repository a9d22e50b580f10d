// RandomAccessFile: an open file that is read at offsets. What it was when it was opened is what is
// expected of it. Moves; any thread may read.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/file.h"
#include "base/status.h"

namespace gp::interop {

class RandomAccessFile {
 public:
  // InvalidArgument when it is no regular file.
  static StatusOr<RandomAccessFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  uint64_t size_bytes() const { return size_bytes_; }

  // Fills `bytes` from `offset`. DataLoss names the offset where the file ends before that.
  Status Read(uint64_t offset, std::span<char> bytes) const;

 private:
  std::string path_;
  FileDescriptor file_;
  uint64_t size_bytes_ = 0;
};

}  // namespace gp::interop
