#include "formats/text_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/read_at.h"
#include "formats/file_kind.h"
#include "formats/likeness/likeness.h"
#include "formats/likeness/sample_places.h"

namespace gp::formats {
namespace {

constexpr size_t kPieceBytes = 1 << 20;
constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

// Reads the bytes of the file piece by piece.
class TextStream::Source {
 public:
  Source(FileDescriptor file, std::string name) : name_(std::move(name)), file_(std::move(file)) {}

  // The bytes that were read but not taken yet; empty only at the end of the file.
  StatusOr<std::string_view> Peek() {
    if (begin_ == end_ && !ended_) RETURN_IF_ERROR(ReadPiece());
    return std::string_view(piece_).substr(begin_, end_ - begin_);
  }
  void Take(size_t bytes) { begin_ += bytes; }

  // Continues at `offset`. False if that is not possible.
  bool Seek(uint64_t offset) {
    struct stat info {};
    if (fstat(file_.get(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
    if (static_cast<uint64_t>(info.st_size) < offset) return false;
    if (lseek(file_.get(), static_cast<off_t>(offset), SEEK_SET) < 0) return false;
    read_bytes_ = offset;
    begin_ = end_ = 0;
    ended_ = false;
    return true;
  }

  // The size of a regular file; 0 for others, such as a pipe.
  uint64_t SizeBytes() const {
    struct stat info {};
    const bool regular = fstat(file_.get(), &info) == 0 && S_ISREG(info.st_mode);
    return regular ? static_cast<uint64_t>(info.st_size) : 0;
  }

  // A piece of kLikenessBytes of the file; shorter at its end.
  StatusOr<std::string> PieceAt(uint64_t offset) const {
    std::string piece(kLikenessBytes, '\0');
    ASSIGN_OR_RETURN(const size_t filled, ReadAt(file_.get(), offset, piece, name_));
    piece.resize(filled);
    return piece;
  }

  const std::string& name() const { return name_; }
  uint64_t offset() const { return read_bytes_ - (end_ - begin_); }

 private:
  // The first piece is short, because a check before a run usually reads nothing else of a file.
  Status ReadPiece() {
    begin_ = end_ = 0;
    piece_.resize(read_bytes_ == 0 ? kLikenessBytes : kPieceBytes);
    while (end_ < piece_.size()) {
      const ssize_t got = read(file_.get(), piece_.data() + end_, piece_.size() - end_);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus(errno, "read", name_);
      ended_ = got == 0;
      if (ended_) break;
      end_ += static_cast<size_t>(got);
    }
    read_bytes_ += end_;
    return OkStatus();
  }

  const std::string name_;
  const FileDescriptor file_;
  std::string piece_;
  size_t begin_ = 0, end_ = 0;  // range in piece_ that is not taken yet
  uint64_t read_bytes_ = 0;
  bool ended_ = false;
};

class TextStream::Unpacker {
 public:
  virtual ~Unpacker() = default;
  // Unpack decompresses from the front of `packed` to the front of `text` and returns how many
  // bytes it took and made. Both may be 0 only when `packed` is empty.
  struct Unpacked {
    size_t taken = 0, made = 0;
    std::string error;  // the library's message for damaged data
  };
  virtual Unpacked Unpack(std::string_view packed, std::span<char> text) = 0;
  // Whether the file may end here.
  virtual bool complete() const = 0;
  virtual const char* name() const = 0;
};

// A gzip file is one or more members, and perhaps zeros after them (RFC 1952).
class TextStream::GzipUnpacker : public TextStream::Unpacker {
 public:
  GzipUnpacker() { GP_CHECK(inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK); }
  ~GzipUnpacker() override { inflateEnd(&stream_); }

  Unpacked Unpack(std::string_view packed, std::span<char> text) override {
    if (complete_ && packed.empty()) return {};
    if (complete_) {
      const size_t zeros = std::min(packed.find_first_not_of('\0'), packed.size());
      if (zeros > 0) return {zeros, 0, ""};
      inflateReset(&stream_);
    }
    // zlib reads it only, but its field is not const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(text.data());
    stream_.avail_out = static_cast<uInt>(text.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    complete_ = result == Z_STREAM_END;
    Unpacked unpacked{packed.size() - stream_.avail_in, text.size() - stream_.avail_out, ""};
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      unpacked.error = stream_.msg == nullptr ? "error" : stream_.msg;
    }
    return unpacked;
  }

  bool complete() const override { return complete_; }
  const char* name() const override { return "gzip"; }

 private:
  z_stream stream_{};
  bool complete_ = false;
};

// A zstd file is one or more frames (RFC 8878). A frame that asks for a window above 128 MiB is
// refused by the library.
class TextStream::ZstdUnpacker : public TextStream::Unpacker {
 public:
  ZstdUnpacker() : stream_(ZSTD_createDStream()) { GP_CHECK(stream_ != nullptr); }
  ~ZstdUnpacker() override { ZSTD_freeDStream(stream_); }

  Unpacked Unpack(std::string_view packed, std::span<char> text) override {
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    ZSTD_outBuffer out{text.data(), text.size(), 0};
    const size_t result = ZSTD_decompressStream(stream_, &out, &in);
    Unpacked unpacked{in.pos, out.pos, ""};
    if (ZSTD_isError(result)) {
      unpacked.error = ZSTD_getErrorName(result);
    } else if (in.pos > 0 || out.pos > 0) {
      complete_ = result == 0;
    }
    return unpacked;
  }

  bool complete() const override { return complete_; }
  const char* name() const override { return "zstd"; }

 private:
  ZSTD_DStream* const stream_;
  bool complete_ = false;
};

TextStream::TextStream(std::unique_ptr<Source> source) : source_(std::move(source)) {}
TextStream::TextStream(TextStream&&) noexcept = default;
TextStream& TextStream::operator=(TextStream&&) noexcept = default;
TextStream::~TextStream() = default;

StatusOr<TextStream> TextStream::Open(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "open", path);
  return FromDescriptor(std::move(file), path);
}

StatusOr<TextStream> TextStream::FromDescriptor(FileDescriptor file, const std::string& name) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "stat", name);
  if (S_ISDIR(info.st_mode)) return InvalidArgument("{} is a directory", name);
  TextStream stream(std::make_unique<Source>(std::move(file), name));
  RETURN_IF_ERROR(stream.ChooseUnpacker());
  RETURN_IF_ERROR(stream.ReadHead());
  return stream;
}

Status TextStream::ChooseUnpacker() {
  ASSIGN_OR_RETURN(const std::string_view begin, source_->Peek());
  if (begin.starts_with(kGzipMagic)) unpacker_ = std::make_unique<GzipUnpacker>();
  if (begin.starts_with(kZstdMagic)) unpacker_ = std::make_unique<ZstdUnpacker>();
  return OkStatus();
}

Status TextStream::ReadHead() {
  head_.resize(kLikenessBytes);
  ASSIGN_OR_RETURN(const size_t size, ReadUnpacked(head_));
  head_.resize(size);
  if (head_.starts_with(kByteOrderMark)) mark_bytes_ = kByteOrderMark.size();
  head_taken_ = mark_bytes_;
  return RefuseOtherKinds(source_->name(), head_, "text");
}

StatusOr<size_t> TextStream::Read(std::span<char> to) {
  const size_t of_head = std::min(head_.size() - head_taken_, to.size());
  std::memcpy(to.data(), head_.data() + head_taken_, of_head);
  head_taken_ += of_head;
  ASSIGN_OR_RETURN(const size_t more, ReadUnpacked(to.subspan(of_head)));
  return of_head + more;
}

StatusOr<size_t> TextStream::ReadUnpacked(std::span<char> to) {
  size_t filled = 0;
  while (filled < to.size()) {
    ASSIGN_OR_RETURN(const std::string_view piece, source_->Peek());
    if (unpacker_ == nullptr) {
      if (piece.empty()) break;
      const size_t bytes = std::min(piece.size(), to.size() - filled);
      std::memcpy(to.data() + filled, piece.data(), bytes);
      source_->Take(bytes);
      filled += bytes;
      continue;
    }
    const Unpacker::Unpacked unpacked = unpacker_->Unpack(piece, to.subspan(filled));
    source_->Take(unpacked.taken);
    filled += unpacked.made;
    if (!unpacked.error.empty()) {
      return InvalidArgument("{} is damaged near byte {}: {} says '{}'; copy the file again",
                             source_->name(), source_->offset(), unpacker_->name(), unpacked.error);
    }
    if (!piece.empty() || unpacked.made > 0) continue;
    if (unpacker_->complete()) break;
    return InvalidArgument(
        "{} is cut short at byte {}: the end of the {} data is missing; copy the file again",
        source_->name(), source_->offset(), unpacker_->name());
  }
  return filled;
}

Status TextStream::Skip(uint64_t bytes) {
  const bool seeks = unpacker_ == nullptr && source_->Seek(bytes);
  head_taken_ = seeks ? head_.size() : 0;
  if (seeks) return OkStatus();
  std::string ignored(kPieceBytes, '\0');
  for (uint64_t left = bytes; left > 0;) {
    const size_t part = static_cast<size_t>(std::min<uint64_t>(left, ignored.size()));
    ASSIGN_OR_RETURN(const size_t got, Read({ignored.data(), part}));
    if (got < part) {
      return DataLoss("{} ends {} bytes of text before byte {}: the file has changed; restore it",
                      source_->name(), left - got, bytes);
    }
    left -= part;
  }
  return OkStatus();
}

std::string_view TextStream::head() const { return std::string_view(head_).substr(mark_bytes_); }

// A text may have lines of JSON in up to half of the places, such as an example in a manual.
StatusOr<std::optional<Likeness>> TextStream::Unlikeness() const {
  if (auto likeness = UnlikeText(head())) return likeness;
  if (unpacker_ != nullptr) return std::optional<Likeness>();
  const std::vector<uint64_t> places = SamplePlaces(source_->SizeBytes());
  size_t json = 0;
  for (const uint64_t place : places) {
    ASSIGN_OR_RETURN(const std::string piece, source_->PieceAt(place));
    auto likeness = UnlikeTextInside(piece);
    if (!likeness) continue;
    if (likeness->is_json_lines && 2 * ++json <= places.size()) continue;
    likeness->what += fmt::format(" near byte {}", place);
    likeness->is_json_lines = false;
    return likeness;
  }
  return std::optional<Likeness>();
}

uint64_t TextStream::file_offset() const { return source_->offset(); }

}  // namespace gp::formats
