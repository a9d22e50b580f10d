#include "formats/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/file.h"

namespace gp::formats {
namespace {

using Take = std::function<Status(std::string_view)>;

constexpr size_t kPieceBytes = 1 << 20;
constexpr std::string_view kGzipMagic = "\x1f\x8b";

// Read as text they would train a model of noise.
struct Packing {
  std::string_view magic;
  const char* program;
};
constexpr Packing kOtherPackings[] = {{"\x28\xb5\x2f\xfd", "zstd -d"},
                                      {"\xfd"
                                       "7zXZ",
                                       "xz -dk"},
                                      {"BZh", "bzip2 -dk"},
                                      {"PK\x03\x04", "unzip"}};

Status RefuseOtherPackings(const std::string& path, std::string_view begin) {
  for (const Packing& packing : kOtherPackings) {
    if (!begin.starts_with(packing.magic)) continue;
    return InvalidArgument(
        "{} is compressed, and only gzip is unpacked here; unpack it first, for example with '{} "
        "{}'",
        path, packing.program, path);
  }
  return OkStatus();
}

// A file read from its front, and how much text came of it.
class Reading {
 public:
  Reading(const std::string& path, uint64_t text_bytes_max, const Take& take)
      : path_(path), text_bytes_max_(text_bytes_max), take_(take), piece_(kPieceBytes, '\0') {}

  Status Open() {
    file_ = FileDescriptor(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file_.valid()) return ErrnoStatus(errno, "open", path_);
    struct stat info {};
    if (fstat(file_.get(), &info) != 0) return ErrnoStatus(errno, "stat", path_);
    if (S_ISDIR(info.st_mode)) return InvalidArgument("{} is a directory", path_);
    return OkStatus();
  }

  // The next bytes of the file, valid until the next call; empty at its end.
  StatusOr<std::string_view> NextPiece() {
    offset_ += piece_size_;
    piece_size_ = 0;
    while (piece_size_ < piece_.size()) {
      const ssize_t got =
          read(file_.get(), piece_.data() + piece_size_, piece_.size() - piece_size_);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus(errno, "read", path_);
      if (got == 0) break;
      piece_size_ += static_cast<size_t>(got);
    }
    return std::string_view(piece_).substr(0, piece_size_);
  }

  Status PassOn(std::string_view text) {
    if (text.size() > text_bytes_max_ - text_bytes_) {
      return MakeStatus(
          StatusCode::kResourceExhausted,
          "{}: the text is longer than the {} bytes that there is room for; take a part of it",
          path_, text_bytes_max_);
    }
    text_bytes_ += text.size();
    return take_(text);
  }

  const std::string& path() const { return path_; }
  // Where the last piece begins in the file.
  uint64_t offset() const { return offset_; }

 private:
  const std::string& path_;
  const uint64_t text_bytes_max_;
  const Take& take_;
  FileDescriptor file_;
  std::string piece_;
  size_t piece_size_ = 0;
  uint64_t offset_ = 0;
  uint64_t text_bytes_ = 0;
};

Status ReadPlain(Reading& reading, std::string_view piece) {
  while (!piece.empty()) {
    RETURN_IF_ERROR(reading.PassOn(piece));
    ASSIGN_OR_RETURN(piece, reading.NextPiece());
  }
  return OkStatus();
}

// A gzip file is one or more members, and perhaps zeros after them (RFC 1952).
class Unpacking {
 public:
  explicit Unpacking(Reading& reading) : reading_(reading), text_(kPieceBytes, '\0') {
    GP_CHECK(inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK);
  }
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;
  ~Unpacking() { inflateEnd(&stream_); }

  Status Run(std::string_view piece) {
    while (!piece.empty()) {
      RETURN_IF_ERROR(UnpackPiece(piece));
      ASSIGN_OR_RETURN(piece, reading_.NextPiece());
    }
    if (member_ended_) return OkStatus();
    return InvalidArgument("{} is cut short at byte {}: gzip's end is missing; copy the file again",
                           reading_.path(), reading_.offset());
  }

 private:
  Status UnpackPiece(std::string_view piece) {
    // zlib reads it only, but its field is not const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream_.avail_in = static_cast<uInt>(piece.size());
    while (stream_.avail_in > 0 || output_was_full_) {
      if (member_ended_ && *stream_.next_in == 0) {
        Skip();
      } else {
        RETURN_IF_ERROR(UnpackSome(piece));
      }
    }
    return OkStatus();
  }

  void Skip() {
    ++stream_.next_in;
    --stream_.avail_in;
  }

  Status UnpackSome(std::string_view piece) {
    if (member_ended_) inflateReset(&stream_);
    stream_.next_out = reinterpret_cast<Bytef*>(text_.data());
    stream_.avail_out = static_cast<uInt>(text_.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    member_ended_ = result == Z_STREAM_END;
    output_was_full_ = stream_.avail_out == 0 && !member_ended_;
    // No progress is possible when the output filled up just as the input ended.
    if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) {
      return reading_.PassOn(std::string_view(text_).substr(0, text_.size() - stream_.avail_out));
    }
    return InvalidArgument("{} is damaged near byte {}: gzip says '{}'; copy the file again",
                           reading_.path(), reading_.offset() + piece.size() - stream_.avail_in,
                           stream_.msg == nullptr ? "error" : stream_.msg);
  }

  Reading& reading_;
  std::string text_;
  z_stream stream_{};
  bool member_ended_ = false;
  bool output_was_full_ = false;
};

}  // namespace

Status ReadTextFile(const std::string& path, uint64_t text_bytes_max, const Take& take) {
  Reading reading(path, text_bytes_max, take);
  RETURN_IF_ERROR(reading.Open());
  ASSIGN_OR_RETURN(const std::string_view piece, reading.NextPiece());
  RETURN_IF_ERROR(RefuseOtherPackings(path, piece));
  return piece.starts_with(kGzipMagic) ? Unpacking(reading).Run(piece) : ReadPlain(reading, piece);
}

StatusOr<std::string> ReadTextFile(const std::string& path, uint64_t text_bytes_max) {
  std::string text;
  if (const auto size = FileSize(path); size.ok()) text.reserve(std::min(*size, text_bytes_max));
  RETURN_IF_ERROR(ReadTextFile(path, text_bytes_max, [&text](std::string_view piece) {
    text += piece;
    return OkStatus();
  }));
  return text;
}

}  // namespace gp::formats
