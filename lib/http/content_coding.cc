#include "http/content_coding.h"

#include <zlib.h>

#include <array>
#include <utility>
#include <vector>

#include "base/text/excerpt.h"

namespace gp::http {
namespace {

// zlib's windowBits, which also select the format.
constexpr int kGzip = 16 + MAX_WBITS;
constexpr int kRawDeflate = -MAX_WBITS;
constexpr int kGzipOrZlib = 32 + MAX_WBITS;  // detected by the header

// The content codings other than identity, in the order in which they were applied.
std::vector<std::string> CodingsOf(const Request& request) {
  std::vector<std::string> codings = request.HeaderList("content-encoding");
  std::erase(codings, "identity");
  return codings;
}

ApiError Unsupported(std::string message) {
  return {.status = 415, .message = std::move(message), .code = "unsupported_encoding"};
}

ApiError Damaged(const std::string& coding) {
  return {.status = 400,
          .message = fmt::format("the body does not match Content-Encoding: {}: it is damaged, cut "
                                 "short, or followed by other bytes",
                                 coding),
          .code = "invalid_encoding"};
}

// The header of a zlib stream: deflate with a window of 32 KiB at most, and a checksum (RFC 1950).
bool BeginsAsZlib(std::string_view body) {
  if (body.size() < 2) return false;
  const auto first = static_cast<unsigned char>(body[0]);
  const auto second = static_cast<unsigned char>(body[1]);
  return first % 16 == Z_DEFLATED && first / 16 <= 7 && (first * 256 + second) % 31 == 0;
}

// One stream of zlib or raw deflate, or the members of a gzip file one after another.
class Inflater {
 public:
  Inflater(std::string_view input, int window_bits) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    ready_ = inflateInit2(&stream_, window_bits) == Z_OK;
  }
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Appends the next bytes to `out`. Z_OK: there may be more.
  int Next(std::string& out) {
    if (!ready_) return Z_MEM_ERROR;
    std::array<char, 16 << 10> piece;
    stream_.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream_.avail_out = piece.size();
    const int result = inflate(&stream_, Z_NO_FLUSH);
    out.append(piece.data(), piece.size() - stream_.avail_out);
    return result;
  }
  // Starts the next member of gzip after the end of one.
  int NextMember() { return inflateReset2(&stream_, kGzip); }
  bool has_input() const { return stream_.avail_in > 0; }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

}  // namespace

bool IsPlainBody(const Request& request) { return CodingsOf(request).empty(); }

std::optional<ApiError> DecodeBody(Request& request, size_t bytes_max) {
  const std::vector<std::string> codings = CodingsOf(request);
  if (codings.empty()) return std::nullopt;
  const std::string coding = fmt::format("{}", fmt::join(codings, ", "));
  if (codings.size() > 1) {
    return Unsupported(
        fmt::format("Content-Encoding: {} is more than one coding; send gzip, "
                    "deflate or the body as it is",
                    Excerpt(coding)));
  }
  if (coding != "gzip" && coding != "x-gzip" && coding != "deflate") {
    return Unsupported(
        fmt::format("Content-Encoding: {} is not understood; send gzip, deflate or "
                    "the body as it is",
                    Excerpt(coding)));
  }
  std::string plain;
  // Many clients send deflate without the zlib header that HTTP requires.
  const bool raw = coding == "deflate" && !BeginsAsZlib(request.body);
  Inflater inflater(request.body, raw ? kRawDeflate : kGzipOrZlib);
  int result = Z_OK;
  while (result == Z_OK) {
    result = inflater.Next(plain);
    if (plain.size() > bytes_max) {
      return ApiError{.status = 413,
                      .message = fmt::format("the body has more than {} bytes once it is decoded; "
                                             "send less at once",
                                             bytes_max)};
    }
    const bool more = result == Z_STREAM_END && inflater.has_input();
    if (more && coding != "deflate") result = inflater.NextMember();
  }
  if (result != Z_STREAM_END || inflater.has_input()) return Damaged(coding);
  request.body = std::move(plain);
  return std::nullopt;
}

std::optional<ApiError> RefusedTransferCoding(const Request& request) {
  const std::vector<std::string> codings = request.HeaderList("transfer-encoding");
  if (!request.Header("transfer-encoding") || codings == std::vector<std::string>{"chunked"}) {
    return std::nullopt;
  }
  return Unsupported(
      fmt::format("Transfer-Encoding: {} is not understood; send chunked alone, or a "
                  "Content-Length, and name a "
                  "compressed body with Content-Encoding: gzip",
                  Excerpt(fmt::format("{}", fmt::join(codings, ", ")))));
}

}  // namespace gp::http
