#include "coordinator/telemetry/record_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "base/log.h"
#include "base/read_at.h"

namespace gp::coordinator {
namespace {

constexpr size_t kPieceBytes = 64 << 10;
// The search for the next record after damage finds records up to this size only, so that it stays
// cheap when many bytes look like headers. All records that gp writes are smaller.
constexpr uint32_t kFoundRecordBytesMax = 64 << 10;
constexpr int kDamagedCopiesMax = 3;

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

Status AppendRecord(std::string_view payload, std::string& bytes) {
  if (payload.empty() || payload.size() > kRecordBytesMax) {
    return InvalidArgument("a record has 1 to {} bytes, this one has {}", kRecordBytesMax,
                           payload.size());
  }
  AppendWord(static_cast<uint32_t>(payload.size()), bytes);
  AppendWord(Crc32c(payload), bytes);
  bytes += payload;
  return OkStatus();
}

StatusOr<uint64_t> SizeOf(int fd, const std::string& path) {
  struct stat state {};
  if (fstat(fd, &state) != 0) return ErrnoStatus(errno, "get the size of", path);
  return static_cast<uint64_t>(state.st_size);
}

// Reads the file in large pieces and returns whole records. It reads up to `end`, the file's size
// at the beginning. While another thread appends, the last record may be cut there. If the scanner
// read further, the records after it would make it look damaged.
class Scanner {
 public:
  Scanner(int fd, std::string path, uint64_t offset, uint64_t end)
      : fd_(fd), path_(std::move(path)), offset_(offset), end_(end) {}

  // The next complete record; empty at the end and before one that is torn or damaged. Valid until
  // the next call.
  StatusOr<std::optional<std::string_view>> Next() {
    ASSIGN_OR_RETURN(const auto payload, Look(kRecordBytesMax));
    if (payload) Advance(kRecordHeaderBytes + payload->size());
    return payload;
  }

  // Moves to the next complete record, which may begin at any byte. False, without a move, if none
  // follows.
  StatusOr<bool> FindNext() {
    const uint64_t before = offset_;
    while (true) {
      ASSIGN_OR_RETURN(const bool more, Fill(1 + kRecordHeaderBytes));
      if (!more) break;
      Advance(1);
      ASSIGN_OR_RETURN(const auto payload, Look(kFoundRecordBytesMax));
      if (payload) return true;
    }
    buffer_.clear();
    start_ = 0;
    offset_ = before;
    return false;
  }

  uint64_t offset() const { return offset_; }

 private:
  // The record at start_, when it is whole and has 1 to `size_max` bytes.
  StatusOr<std::optional<std::string_view>> Look(uint32_t size_max) {
    ASSIGN_OR_RETURN(const bool header, Fill(kRecordHeaderBytes));
    if (!header) return std::optional<std::string_view>();
    const uint32_t size = ReadWord(buffer_.data() + start_);
    const uint32_t crc = ReadWord(buffer_.data() + start_ + 4);
    if (size == 0 || size > size_max) return std::optional<std::string_view>();
    ASSIGN_OR_RETURN(const bool whole, Fill(kRecordHeaderBytes + size));
    if (!whole) return std::optional<std::string_view>();
    const std::string_view payload(buffer_.data() + start_ + kRecordHeaderBytes, size);
    if (Crc32c(payload) != crc) return std::optional<std::string_view>();
    return std::optional<std::string_view>(payload);
  }

  void Advance(size_t bytes) {
    start_ += bytes;
    offset_ += bytes;
  }

  // True if `size` bytes are available from start_ on.
  StatusOr<bool> Fill(size_t size) {
    if (buffer_.size() - start_ >= size) return true;
    buffer_.erase(0, start_);
    start_ = 0;
    const size_t have = buffer_.size();
    const uint64_t from = offset_ + have;
    const uint64_t left = from < end_ ? end_ - from : 0;
    const auto wanted = std::min<uint64_t>(std::max(size - have, kPieceBytes), left);
    buffer_.resize(have + wanted);
    ASSIGN_OR_RETURN(const size_t got, ReadAt(fd_, from, {buffer_.data() + have, wanted}, path_));
    buffer_.resize(have + got);
    return buffer_.size() >= size;
  }

  int fd_;
  std::string path_;
  uint64_t offset_;  // file offset of the record at start_
  const uint64_t end_;
  std::string buffer_;
  size_t start_ = 0;
};

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Positions of the complete records of a file.
struct Layout {
  std::vector<Range> damaged;  // between whole records, in order
  uint64_t end = 0;            // where the last whole record ends
};

StatusOr<Layout> Scan(int fd, const std::string& path, uint64_t from,
                      const std::function<void(std::string_view)>& visit) {
  ASSIGN_OR_RETURN(const uint64_t size_bytes, SizeOf(fd, path));
  Scanner scanner(fd, path, from, size_bytes);
  Layout layout;
  while (true) {
    ASSIGN_OR_RETURN(const auto payload, scanner.Next());
    if (payload) {
      visit(*payload);
      continue;
    }
    layout.end = scanner.offset();
    ASSIGN_OR_RETURN(const bool found, scanner.FindNext());
    if (!found) return layout;
    layout.damaged.push_back({layout.end, scanner.offset()});
  }
}

Status CopyRange(int from, const Range& range, int to, const std::string& path) {
  std::string piece;
  for (uint64_t offset = range.begin; offset < range.end; offset += piece.size()) {
    piece.resize(std::min<uint64_t>(kPieceBytes, range.end - offset));
    ASSIGN_OR_RETURN(const size_t got, ReadAt(from, offset, piece, path));
    if (got < piece.size()) return DataLoss("{} became shorter while it was copied", path);
    RETURN_IF_ERROR(WriteAll(to, piece, path));
  }
  return OkStatus();
}

// Copies everything except the damage to a new file, and syncs it.
StatusOr<FileDescriptor> CopySound(int from, const Layout& layout, const std::string& path) {
  unlink(path.c_str());  // an earlier attempt may have left this file
  FileDescriptor copy(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!copy.valid()) return ErrnoStatus(errno, "create", path);
  uint64_t begin = 0;
  for (const Range& damage : layout.damaged) {
    RETURN_IF_ERROR(CopyRange(from, {begin, damage.begin}, copy.get(), path));
    begin = damage.end;
  }
  RETURN_IF_ERROR(CopyRange(from, {begin, layout.end}, copy.get(), path));
  if (fsync(copy.get()) != 0) return ErrnoStatus(errno, "sync", path);
  return copy;
}

// Gives the damaged file a second name (a hard link) and returns it. If all names are taken,
// replaces the last one.
StatusOr<std::string> KeepDamaged(const std::string& path) {
  std::string name;
  for (int number = 1; number <= kDamagedCopiesMax; ++number) {
    name = fmt::format("{}.damaged-{}", path, number);
    if (number == kDamagedCopiesMax) unlink(name.c_str());
    if (link(path.c_str(), name.c_str()) == 0) return name;
    if (errno != EEXIST) return ErrnoStatus(errno, "keep a copy of the damaged file as", name);
  }
  return Internal("{} was created by another process meanwhile", name);
}

// The damaged file keeps its content under another name; a file without the damage takes its place.
StatusOr<FileDescriptor> Replace(int damaged, const Layout& layout, const std::string& path) {
  const std::string sound_path = path + ".tmp";
  ASSIGN_OR_RETURN(FileDescriptor sound, CopySound(damaged, layout, sound_path));
  ASSIGN_OR_RETURN(const std::string kept, KeepDamaged(path));
  if (rename(sound_path.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, "rename to", path);
  uint64_t bytes = 0;
  for (const Range& range : layout.damaged) bytes += range.end - range.begin;
  LogWarning("a log was damaged; all readable records are kept",
             {{"file", path},
              {"offset", layout.damaged.front().begin},
              {"places", layout.damaged.size()},
              {"damaged_bytes", bytes},
              {"copy", kept}});
  return sound;
}

Status CheckMagic(int fd, const std::string& path) {
  char magic[8] = {};
  ASSIGN_OR_RETURN(const size_t got, ReadAt(fd, 0, magic, path));
  const std::string_view found(magic, got);
  // A crash may have cut the magic short; then nothing was ever written after it.
  if (found.size() < sizeof magic && kRecordFileMagic.starts_with(found)) return OkStatus();
  if (found == kRecordFileMagic) return OkStatus();
  return DataLoss("{} is not a record file of gp: it does not begin with 'gplog01'", path);
}

}  // namespace

StatusOr<RecordFile> RecordFile::Open(const std::string& path,
                                      const std::function<void(std::string_view)>& visit,
                                      uint64_t from) {
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoStatus(errno, "open", path);
  RETURN_IF_ERROR(CheckMagic(file.get(), path));
  from = std::max<uint64_t>(from, kRecordFileMagic.size());
  ASSIGN_OR_RETURN(const Layout layout, Scan(file.get(), path, from, visit));
  if (!layout.damaged.empty()) {
    ASSIGN_OR_RETURN(file, Replace(file.get(), layout, path));
  }
  uint64_t size_bytes = layout.end;
  for (const Range& range : layout.damaged) size_bytes -= range.end - range.begin;
  if (ftruncate(file.get(), static_cast<off_t>(size_bytes)) != 0) {
    return ErrnoStatus(errno, "cut the torn tail of", path);
  }
  if (pwrite(file.get(), kRecordFileMagic.data(), kRecordFileMagic.size(), 0) !=
      static_cast<ssize_t>(kRecordFileMagic.size())) {
    return ErrnoStatus(errno, "write", path);
  }
  RETURN_IF_ERROR(SyncDirectory(DirectoryOf(path)));
  return RecordFile({path, std::move(file), size_bytes});
}

Status RecordFile::Append(const std::vector<std::string>& payloads) {
  std::string bytes;
  for (const std::string& payload : payloads) {
    RETURN_IF_ERROR(WithContext(AppendRecord(payload, bytes), file_.path()));
  }
  RETURN_IF_ERROR(file_.Append(bytes));
  unsynced_ = true;
  return OkStatus();
}

Status RecordFile::Sync() {
  if (!unsynced_) return OkStatus();
  const Status synced = file_.Sync();
  if (!synced.ok()) {
    // Cut off the records that are not synced: after a failed fsync, a later one may succeed
    // without having written them.
    RETURN_IF_ERROR(file_.CutTo(synced_bytes_));
    return synced;
  }
  synced_bytes_ = file_.size_bytes();
  unsynced_ = false;
  return OkStatus();
}

Status WriteRecord(const std::string& path, std::string_view payload) {
  std::string bytes(kRecordFileMagic);
  RETURN_IF_ERROR(WithContext(AppendRecord(payload, bytes), path));
  const std::string temporary = path + ".tmp";
  const FileDescriptor file(
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoStatus(errno, "create", temporary);
  RETURN_IF_ERROR(WriteAll(file.get(), bytes, temporary));
  if (rename(temporary.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, "rename to", path);
  return OkStatus();
}

StatusOr<uint64_t> ReadRecords(const std::string& path, uint64_t offset,
                               const std::function<bool(std::string_view)>& visit) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return offset;
  if (!file.valid()) return ErrnoStatus(errno, "open", path);
  ASSIGN_OR_RETURN(const uint64_t size_bytes, SizeOf(file.get(), path));
  Scanner scanner(file.get(), path, std::max<uint64_t>(offset, kRecordFileMagic.size()),
                  size_bytes);
  while (true) {
    ASSIGN_OR_RETURN(const auto payload, scanner.Next());
    if (payload) {
      if (!visit(*payload)) return scanner.offset();
      continue;
    }
    // If a complete record follows, this one is damaged: continue after it. Otherwise this is the
    // end of the file, or a record that is being written now.
    ASSIGN_OR_RETURN(const bool found, scanner.FindNext());
    if (!found) return scanner.offset();
  }
}

}  // namespace gp::coordinator
