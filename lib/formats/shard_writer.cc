#include "formats/shard_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/durable_rename.h"

namespace gp::formats {
namespace {

constexpr size_t kLlmCHeaderBytes = 1024;
// The header has this size for any count: like NumPy, it leaves room for 21 digits.
constexpr size_t kNpyHeaderBytes = 128;

std::string LlmCHeader(int token_bytes, int64_t tokens) {
  const bool wide = token_bytes == 4;
  const int32_t words[3] = {wide ? 20240801 : 20240520, wide ? 7 : 1, static_cast<int32_t>(tokens)};
  std::string header(kLlmCHeaderBytes, '\0');
  std::memcpy(header.data(), words, sizeof words);
  return header;
}

std::string NpyHeader(int token_bytes, int64_t tokens) {
  std::string header = {'\x93', 'N', 'U', 'M', 'P', 'Y', '\x01', '\x00', '\x76', '\x00'};
  static_assert(kNpyHeaderBytes - 10 == 0x76);
  header += fmt::format("{{'descr': '<u{}', 'fortran_order': False, 'shape': ({},), }}",
                        token_bytes, tokens);
  header.resize(kNpyHeaderBytes - 1, ' ');
  return header + '\n';
}

Status CheckForm(const std::string& path, ShardForm form) {
  if (form.token_bytes == 2) return OkStatus();
  if (form.token_bytes == 4 && form.format != ShardFormat::kRaw) return OkStatus();
  return InvalidArgument(
      "{}: nanoGPT's format holds uint16 only, but this vocabulary needs {} bytes a token; use "
      "another --format",
      path, form.token_bytes);
}

uint64_t FileBytes(ShardForm form, int64_t tokens) {
  return ShardHeader(form, 0).size() +
         static_cast<uint64_t>(tokens) * static_cast<uint64_t>(form.token_bytes);
}

Status CutTo(const FileDescriptor& file, uint64_t bytes, const std::string& path) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "stat", path);
  if (static_cast<uint64_t>(info.st_size) < bytes) {
    return DataLoss("{} has {} bytes, but {} were written and synced; start again", path,
                    info.st_size, bytes);
  }
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    return ErrnoStatus(errno, "cut", path);
  }
  if (lseek(file.get(), 0, SEEK_END) < 0) return ErrnoStatus(errno, "seek in", path);
  return OkStatus();
}

}  // namespace

std::string ShardHeader(ShardForm form, int64_t tokens) {
  switch (form.format) {
    case ShardFormat::kLlmC:
      return LlmCHeader(form.token_bytes, tokens);
    case ShardFormat::kNpy:
      return NpyHeader(form.token_bytes, tokens);
    case ShardFormat::kRaw:
      break;
  }
  return "";
}

int64_t ShardTokensMax(ShardFormat format) {
  return format == ShardFormat::kLlmC ? std::numeric_limits<int32_t>::max() : int64_t{1} << 48;
}

std::string PartialShardPath(const std::string& path) { return path + ".partial"; }

StatusOr<ShardWriter> ShardWriter::Create(const std::string& path, ShardForm form) {
  RETURN_IF_ERROR(CheckForm(path, form));
  const std::string partial = PartialShardPath(path);
  FileDescriptor file(open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.valid()) return ErrnoStatus(errno, "create", partial);
  // Zeros take the header's place until Finish, so that the file cannot be mistaken for a finished
  // shard.
  RETURN_IF_ERROR(WriteAll(file.get(), std::string(ShardHeader(form, 0).size(), '\0'), partial));
  RETURN_IF_ERROR(SyncDirectory(DirectoryOf(path)));
  return ShardWriter(path, form, std::move(file), 0);
}

StatusOr<ShardWriter> ShardWriter::Resume(const std::string& path, ShardForm form, int64_t tokens) {
  RETURN_IF_ERROR(CheckForm(path, form));
  const std::string partial = PartialShardPath(path);
  // A crash right after Finish left the shard under its final name.
  if (!FileExists(partial) && rename(path.c_str(), partial.c_str()) != 0) {
    return ErrnoStatus(errno, "continue", partial);
  }
  FileDescriptor file(open(partial.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "open", partial);
  RETURN_IF_ERROR(CutTo(file, FileBytes(form, tokens), partial));
  return ShardWriter(path, form, std::move(file), tokens);
}

Status ShardWriter::Append(std::string_view tokens) {
  const auto token_bytes = static_cast<size_t>(form_.token_bytes);
  GP_CHECK(tokens.size() % token_bytes == 0, "{} bytes", tokens.size());
  const auto count = static_cast<int64_t>(tokens.size() / token_bytes);
  GP_CHECK(size_ + count <= ShardTokensMax(form_.format), "{} tokens", size_ + count);
  RETURN_IF_ERROR(WriteAll(file_.get(), tokens, PartialShardPath(path_)));
  size_ += count;
  return OkStatus();
}

Status ShardWriter::Sync() {
  if (fdatasync(file_.get()) == 0) return OkStatus();
  return ErrnoStatus(errno, "sync", PartialShardPath(path_));
}

Status ShardWriter::Finish() {
  const std::string partial = PartialShardPath(path_), header = ShardHeader(form_, size_);
  if (lseek(file_.get(), 0, SEEK_SET) < 0) return ErrnoStatus(errno, "seek in", partial);
  RETURN_IF_ERROR(WriteAll(file_.get(), header, partial));
  if (fsync(file_.get()) != 0) return ErrnoStatus(errno, "sync", partial);
  file_.Close();
  return RenameDurably(partial, path_);
}

}  // namespace gp::formats
