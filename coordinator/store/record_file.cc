#include "coordinator/store/record_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/check.h"

namespace gp::coordinator {
namespace {

void AppendWord(uint32_t word, std::string& bytes) {
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>((word >> shift) & 0xff);
}

uint32_t ReadWord(const char* bytes) {
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i) {
    word |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return word;
}

StatusOr<size_t> ReadAt(int fd, uint64_t offset, char* buffer, size_t size,
                        const std::string& path) {
  size_t filled = 0;
  while (filled < size) {
    const ssize_t got =
        pread(fd, buffer + filled, size - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read", path);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  return filled;
}

// Reads the file in large pieces and hands out whole records.
class Scanner {
 public:
  Scanner(int fd, std::string path, uint64_t offset)
      : fd_(fd), path_(std::move(path)), offset_(offset) {}

  // The next whole record; empty at the end or before a torn one. Valid until the next call.
  StatusOr<std::optional<std::string_view>> Next() {
    ASSIGN_OR_RETURN(const bool header, Fill(kRecordHeaderBytes));
    if (!header) return std::optional<std::string_view>();
    const uint32_t size = ReadWord(buffer_.data() + start_);
    const uint32_t crc = ReadWord(buffer_.data() + start_ + 4);
    if (size > kRecordBytesMax) return std::optional<std::string_view>();
    ASSIGN_OR_RETURN(const bool whole, Fill(kRecordHeaderBytes + size));
    if (!whole) return std::optional<std::string_view>();
    const std::string_view payload(buffer_.data() + start_ + kRecordHeaderBytes, size);
    if (Crc32c(payload) != crc) return std::optional<std::string_view>();
    start_ += kRecordHeaderBytes + size;
    offset_ += kRecordHeaderBytes + size;
    return std::optional<std::string_view>(payload);
  }

  uint64_t offset() const { return offset_; }

 private:
  // True when `size` bytes are there from start_ on.
  StatusOr<bool> Fill(size_t size) {
    if (buffer_.size() - start_ >= size) return true;
    buffer_.erase(0, start_);
    start_ = 0;
    const size_t have = buffer_.size();
    buffer_.resize(std::max(size, have + (size_t{64} << 10)));
    ASSIGN_OR_RETURN(const size_t got, ReadAt(fd_, offset_ + have, buffer_.data() + have,
                                              buffer_.size() - have, path_));
    buffer_.resize(have + got);
    return buffer_.size() >= size;
  }

  int fd_;
  std::string path_;
  uint64_t offset_;  // in the file, of the record at start_
  std::string buffer_;
  size_t start_ = 0;
};

Status CheckMagic(int fd, const std::string& path) {
  char magic[8] = {};
  ASSIGN_OR_RETURN(const size_t got, ReadAt(fd, 0, magic, sizeof magic, path));
  const std::string_view found(magic, got);
  // A crash may have cut the magic short; then nothing was ever written behind it.
  if (found.size() < sizeof magic && kRecordFileMagic.starts_with(found)) return OkStatus();
  if (found == kRecordFileMagic) return OkStatus();
  return DataLoss("{} is not a record file of gp: it does not begin with 'gplog01'", path);
}

}  // namespace

StatusOr<RecordFile> RecordFile::Open(const std::string& path,
                                      const std::function<void(std::string_view)>& visit) {
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoStatus(errno, "open", path);
  RETURN_IF_ERROR(CheckMagic(file.get(), path));
  Scanner scanner(file.get(), path, kRecordFileMagic.size());
  while (true) {
    ASSIGN_OR_RETURN(const auto payload, scanner.Next());
    if (!payload) break;
    visit(*payload);
  }
  if (ftruncate(file.get(), static_cast<off_t>(scanner.offset())) != 0) {
    return ErrnoStatus(errno, "cut the torn tail of", path);
  }
  if (pwrite(file.get(), kRecordFileMagic.data(), kRecordFileMagic.size(), 0) !=
      static_cast<ssize_t>(kRecordFileMagic.size())) {
    return ErrnoStatus(errno, "write", path);
  }
  RETURN_IF_ERROR(SyncDirectory(DirectoryOf(path)));
  return RecordFile(std::move(file), path, scanner.offset());
}

Status RecordFile::Append(const std::vector<std::string>& payloads) {
  std::string bytes;
  for (const std::string& payload : payloads) {
    GP_CHECK(payload.size() <= kRecordBytesMax, "a record of {} bytes", payload.size());
    AppendWord(static_cast<uint32_t>(payload.size()), bytes);
    AppendWord(Crc32c(payload), bytes);
    bytes += payload;
  }
  if (lseek(file_.get(), static_cast<off_t>(size_bytes_), SEEK_SET) < 0) {
    return ErrnoStatus(errno, "seek", path_);
  }
  const Status status = WriteAll(file_.get(), bytes, path_);
  if (!status.ok()) {
    // Part of the records may be there; they must not come back as half of a batch that was
    // refused.
    if (ftruncate(file_.get(), static_cast<off_t>(size_bytes_)) != 0) {
      return ErrnoStatus(errno, "cut a failed write from", path_);
    }
    return status;
  }
  size_bytes_ += bytes.size();
  return OkStatus();
}

Status RecordFile::Sync() {
  if (fdatasync(file_.get()) != 0) return ErrnoStatus(errno, "sync", path_);
  return OkStatus();
}

StatusOr<uint64_t> ReadRecords(const std::string& path, uint64_t offset,
                               const std::function<bool(std::string_view)>& visit) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return offset;
  if (!file.valid()) return ErrnoStatus(errno, "open", path);
  Scanner scanner(file.get(), path, std::max<uint64_t>(offset, kRecordFileMagic.size()));
  while (true) {
    ASSIGN_OR_RETURN(const auto payload, scanner.Next());
    if (!payload || !visit(*payload)) return scanner.offset();
  }
}

}  // namespace gp::coordinator
