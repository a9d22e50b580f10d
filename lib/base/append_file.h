// AppendFile: a file that grows by whole records. If a record cannot be written completely, the
// file is cut back to its last whole record, and the next Append writes there. If the file cannot
// be cut either, the next Append tries that first: a shorter record would leave bytes of the failed
// one after it. Belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/status.h"

namespace gp {

class AppendFile {
 public:
  // Makes the file when it is absent. The next record goes to its end.
  static StatusOr<AppendFile> Open(const std::string& path);

  // `size_bytes` is the offset of the next record, which overwrites the bytes there. Bytes after
  // it stay until a failed Append cuts the file.
  AppendFile(std::string path, FileDescriptor file, uint64_t size_bytes)
      : path_(std::move(path)), file_(std::move(file)), size_bytes_(size_bytes) {}

  // The record is durable only after Sync.
  Status Append(std::string_view record);
  Status Sync();
  // Removes the records from offset `size_bytes` on, which is an earlier value of size_bytes(). The
  // next record is written at that offset, even after an error.
  Status CutTo(uint64_t size_bytes);

  const std::string& path() const { return path_; }
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  std::string path_;
  FileDescriptor file_;
  uint64_t size_bytes_;
  bool torn_ = false;  // bytes of a failed write follow size_bytes_
};

}  // namespace gp
