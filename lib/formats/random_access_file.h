// RandomAccessFile: a regular file that is read at offsets. Its size is taken once, when it is
// opened; reading a file that another program has truncated gives an error. Movable; any thread may
// read.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/file.h"
#include "base/status.h"

namespace gp::formats {

class RandomAccessFile {
 public:
  // InvalidArgument when it is not a regular file; opening never waits for the writer of a pipe.
  static StatusOr<RandomAccessFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  uint64_t size_bytes() const { return size_bytes_; }

  // Fills `bytes` from `offset`. DataLoss names the offset where the file ends before that.
  Status Read(uint64_t offset, std::span<char> bytes) const;

  // Asks the system to read ahead bytes [offset, offset + count); returns at once.
  void Expect(uint64_t offset, uint64_t count) const;

 private:
  std::string path_;
  FileDescriptor file_;
  uint64_t size_bytes_ = 0;
};

}  // namespace gp::formats
