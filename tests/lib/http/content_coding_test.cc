#include "http/content_coding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/http/deflate.h"

namespace gp::http {
namespace {

using ::testing::HasSubstr;

constexpr int kZlib = MAX_WBITS;
constexpr int kRaw = -MAX_WBITS;

std::string Gzip(const std::string& text) { return Deflate(text, kGzipBits); }

// The decoded body, or the error's status and message.
std::string Decoded(const std::string& coding, const std::string& body, size_t bytes_max = 1000) {
  Request request{.headers = {{"content-encoding", coding}}, .body = body};
  const auto error = DecodeBody(request, bytes_max);
  return error ? fmt::format("{}: {}", error->status, error->message) : request.body;
}

TEST(ContentCoding, JoinsAllMembersOfGzip) {
  EXPECT_EQ(Decoded("gzip", Gzip("one")), "one");
  EXPECT_EQ(Decoded("gzip", Gzip("one ") + Gzip("two ") + Gzip("three")), "one two three");
  EXPECT_EQ(Decoded("x-gzip", Gzip("") + Gzip("text") + Gzip("")), "text");
  std::string members;
  for (int i = 0; i < 1000; ++i) members += Gzip("a");
  EXPECT_EQ(Decoded("gzip", members), std::string(1000, 'a'));
}

TEST(ContentCoding, TheLimitHoldsForAllMembersTogether) {
  const std::string half(500, 'a');
  EXPECT_EQ(Decoded("gzip", Gzip(half) + Gzip(half)), half + half);
  EXPECT_THAT(Decoded("gzip", Gzip(half) + Gzip(half) + Gzip("a")), HasSubstr("413: "));
  const std::string bomb = Gzip(std::string(1 << 20, 'a'));
  EXPECT_THAT(Decoded("gzip", Gzip("a") + bomb), HasSubstr("413: "));
}

TEST(ContentCoding, AllValuesOfAllHeadersCount) {
  const auto decoded = [](const Headers& headers, const std::string& body) {
    Request request{.headers = headers, .body = body};
    EXPECT_FALSE(IsPlainBody(request));
    const auto error = DecodeBody(request, 1000);
    return error ? fmt::format("{}: {}", error->status, error->message) : request.body;
  };
  EXPECT_EQ(Decoded(" GZip ", Gzip("one")), "one");
  EXPECT_EQ(Decoded("identity, gzip,", Gzip("one")), "one");
  EXPECT_EQ(Decoded("identity, ", "one"), "one");
  EXPECT_EQ(decoded({{"content-encoding", "identity"}, {"content-encoding", "gzip"}}, Gzip("one")),
            "one");
  EXPECT_THAT(decoded({{"content-encoding", "identity"}, {"content-encoding", "br"}}, "x"),
              HasSubstr("415: Content-Encoding: br is not understood"));
  for (const Headers& twice : {Headers{{"content-encoding", "gzip"}, {"content-encoding", "gzip"}},
                               Headers{{"content-encoding", "gzip, gzip"}}}) {
    EXPECT_THAT(decoded(twice, Gzip(Gzip("one"))),
                HasSubstr("415: Content-Encoding: gzip, gzip is more than one coding; send gzip"));
  }
}

TEST(ContentCoding, OfTransferCodingsChunkedIsTakenAlone) {
  const auto refused = [](const Headers& headers) {
    const auto error = RefusedTransferCoding({.headers = headers});
    return error ? fmt::format("{}: {}", error->status, error->message) : "";
  };
  EXPECT_EQ(refused({}), "");
  EXPECT_EQ(refused({{"transfer-encoding", "Chunked"}}), "");
  for (const Headers& other :
       {Headers{{"transfer-encoding", "gzip, chunked"}},
        Headers{{"transfer-encoding", "gzip"}, {"transfer-encoding", "chunked"}}}) {
    EXPECT_THAT(refused(other), HasSubstr("415: Transfer-Encoding: gzip, chunked is not "));
  }
  EXPECT_THAT(refused({{"transfer-encoding", "gzip"}}), HasSubstr("415: "));
  EXPECT_THAT(refused({{"transfer-encoding", "identity"}}), HasSubstr("415: "));
  EXPECT_THAT(refused({{"transfer-encoding", ""}}), HasSubstr("415: "));
}

// HTTP's "deflate" includes a zlib header, which many clients omit.
TEST(ContentCoding, TakesDeflateWithAndWithoutZlibsHeader) {
  for (const std::string text : {"", "x", R"({"prompt":"one"})", "ä\n\0"}) {
    for (const int window_bits : {kZlib, kRaw, 9, -9}) {
      EXPECT_EQ(Decoded("deflate", Deflate(text, window_bits)), text) << window_bits;
      EXPECT_EQ(Decoded("Deflate", Deflate(text, window_bits)), text) << window_bits;
    }
  }
  const std::string long_text(1000, 'a');
  EXPECT_EQ(Decoded("deflate", Deflate(long_text, kRaw)), long_text);
  EXPECT_THAT(Decoded("deflate", Deflate(long_text + "a", kRaw)), HasSubstr("413: "));
  EXPECT_THAT(Decoded("deflate", Deflate(std::string(1 << 20, 'a'), kRaw)), HasSubstr("413: "));
  const std::string stored = std::string("\x01\x03\x00\xfc\xff", 5) + "one";
  EXPECT_EQ(Decoded("deflate", stored), "one") << "a block that is not compressed";
}

TEST(ContentCoding, NeverCutsABodySilently) {
  const std::string whole = Gzip("one") + Gzip("two");
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    if (bytes == Gzip("one").size()) continue;  // this prefix is a complete body
    EXPECT_THAT(Decoded("gzip", whole.substr(0, bytes)), HasSubstr("400: ")) << bytes;
  }
  const std::string zlib = Deflate("one", kZlib);
  const std::string raw = Deflate("one", kRaw);
  EXPECT_EQ(Decoded("deflate", zlib), "one");
  for (const std::string& deflated : {zlib, raw}) {
    for (size_t bytes = 0; bytes < deflated.size(); ++bytes) {
      EXPECT_THAT(Decoded("deflate", deflated.substr(0, bytes)), HasSubstr("400: ")) << bytes;
    }
  }
  for (const auto& [coding, body] :
       {std::pair<std::string, std::string>("gzip", Gzip("one") + "two"),
        {"gzip", Gzip("one") + std::string(16, '\0')},
        {"gzip", Gzip("one") + zlib},
        {"gzip", "one" + Gzip("two")},
        {"deflate", zlib + zlib},
        {"deflate", raw + raw},
        {"deflate", raw + "x"},
        {"deflate", R"({"prompt":"one"})"},
        {"gzip", raw},
        {"deflate", zlib + Gzip("two")}}) {
    EXPECT_THAT(Decoded(coding, body), HasSubstr("followed by other bytes")) << coding;
  }
}

}  // namespace
}  // namespace gp::http
