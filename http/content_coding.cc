#include "http/content_coding.h"

#include <zlib.h>

#include <array>
#include <utility>

#include "base/excerpt.h"

namespace gp::http {
namespace {

constexpr int kGzipOrZlib = 32 + MAX_WBITS;  // told apart by the header
constexpr int kGzip = 16 + MAX_WBITS;

std::string CodingOf(const Request& request) {
  return Lower(request.Header("content-encoding").value_or(""));
}

ApiError Damaged(const std::string& coding) {
  return {
      .status = 400,
      .message = fmt::format("the body is not what Content-Encoding: {} says: it is damaged, cut "
                             "short, or followed by other bytes",
                             coding),
      .code = "invalid_encoding"};
}

// One stream of zlib, or the members of a gzip file one after another.
class Inflater {
 public:
  explicit Inflater(std::string_view input) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    ready_ = inflateInit2(&stream_, kGzipOrZlib) == Z_OK;
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
  // After the end of a member of gzip: the next one begins.
  int NextMember() { return inflateReset2(&stream_, kGzip); }
  bool has_input() const { return stream_.avail_in > 0; }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

}  // namespace

bool IsPlainBody(const Request& request) {
  const std::string coding = CodingOf(request);
  return coding.empty() || coding == "identity";
}

std::optional<ApiError> DecodeBody(Request& request, size_t bytes_max) {
  if (IsPlainBody(request)) return std::nullopt;
  const std::string coding = CodingOf(request);
  if (coding != "gzip" && coding != "x-gzip" && coding != "deflate") {
    return ApiError{.status = 415,
                    .message = fmt::format("Content-Encoding: {} is not understood; send gzip, "
                                           "deflate or the body as it is",
                                           Excerpt(coding)),
                    .code = "unsupported_encoding"};
  }
  std::string plain;
  Inflater inflater(request.body);
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

}  // namespace gp::http
