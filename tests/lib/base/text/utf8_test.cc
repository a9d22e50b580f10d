#include "base/text/utf8.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace gp {
namespace {

TEST(Utf8, EveryCodePointComesBack) {
  for (char32_t value = 0; value <= 0x10ffff; ++value) {
    if (value >= 0xd800 && value <= 0xdfff) continue;
    std::string text;
    AppendCodePoint(value, text);
    std::string_view rest = text;
    ASSERT_EQ(TakeCodePoint(rest), value);
    ASSERT_TRUE(rest.empty());
  }
}

TEST(Utf8, RefusesLongFormsSurrogatesAndFragments) {
  for (const char* bytes : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80",
                            "\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
                            "\xf8\x88\x80\x80\x80", "\xc3", "\xe2\x82", "\xc3("}) {
    std::string_view rest = bytes;
    EXPECT_EQ(TakeCodePoint(rest), std::nullopt) << bytes;
    EXPECT_EQ(rest, bytes);
  }
}

TEST(Utf8, CountsTheBytesBeforeTheFirstThatIsNotText) {
  EXPECT_EQ(WholeUtf8Bytes("na\xc3\xafve"), 6u);
  EXPECT_EQ(WholeUtf8Bytes("na\xefve"), 2u);
  EXPECT_EQ(WholeUtf8Bytes(std::string_view("a\0\xc3", 3)), 2u);
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_FALSE(IsUtf8("\xc3"));
}

TEST(Utf8, ReplacesWhatIsNotText) {
  EXPECT_EQ(ValidUtf8("na\xc3\xafve \xe2\x88\x91", '?'), "na\xc3\xafve \xe2\x88\x91");
  EXPECT_EQ(ValidUtf8("a\xff\xc3z", '?'), "a??z");
  EXPECT_EQ(ValidUtf8("cut \xe2\x88", '?'), "cut ?");
  EXPECT_EQ(ValidUtf8("\xf0\x9f\x98 \xed\xa0\x80"), "\ufffd \ufffd\ufffd\ufffd");
}

TEST(Utf8, KnowsTheBytesThatMayStillBecomeACharacter) {
  EXPECT_EQ(UnfinishedBytes("a\xe2\x82"), 2u);
  EXPECT_EQ(UnfinishedBytes("\xf0\x9f\x98"), 3u);
  for (const char* bytes : {"", "a", "\xe2\x82\xac", "\x80", "\xff", "\xc0", "\xe0\x80", "\xed\xa0",
                            "\xf4\x90", "\xf0\x80\x80"}) {
    EXPECT_EQ(UnfinishedBytes(bytes), 0u) << bytes;
  }
}

// Random byte strings and what Python decodes them to. Each record is the length (one byte) and the
// bytes, then the length and the decoded text. Half of the bytes come from sequences that are
// almost UTF-8.
class DecodedByPython {
 public:
  explicit DecodedByPython(int count) {
    const std::string script = fmt::format(
        R"py(import random, sys
choose = random.Random(20261125)
near = [0xc0, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf]
count = {}
sizes = choose.choices(range(9), k=count)
bytes_of_all = bytes(choose.choices(near + list(range(256)), [15] * len(near) + [1] * 256, k=sum(sizes)))
written, at = [], 0
for size in sizes:
    taken = bytes_of_all[at:at + size]
    at += size
    text = taken.decode("utf-8", "replace").encode()
    written += (bytes((size,)), taken, bytes((len(text),)), text)
sys.stdout.buffer.write(b"".join(written))
)py",
        count);
    output_ = popen(fmt::format("python3 -c '{}' 2>/dev/null", script).c_str(), "r");
  }
  ~DecodedByPython() { pclose(output_); }

  // Reads the next record; false at the end.
  bool Next() { return Take(bytes) && Take(text); }

  std::string bytes;
  std::string text;

 private:
  bool Take(std::string& field) {
    const int size = fgetc(output_);
    if (size == EOF) return false;
    field.resize(static_cast<size_t>(size));
    return fread(field.data(), 1, field.size(), output_) == field.size();
  }

  FILE* output_;
};

TEST(Utf8, ReplacesAndCountsAsPythonDoes) {
  constexpr int kCount = 1'000'000;
  DecodedByPython python(kCount);
  int compared = 0;
  for (; python.Next(); ++compared) {
    ASSERT_EQ(ValidUtf8(python.bytes), python.text) << testing::PrintToString(python.bytes);
    CharacterCounter counter;
    // Counted from the text: a character begins at each byte that is not a continuation byte.
    int64_t begun = 0;
    for (const char byte : python.bytes) counter.Add({&byte, 1});
    for (const char byte : python.text) begun += (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
    ASSERT_EQ(counter.count(), begun) << testing::PrintToString(python.bytes);
  }
  if (compared == 0) GTEST_SKIP() << "there is no python3 to compare with";
  EXPECT_EQ(compared, kCount);
}

}  // namespace
}  // namespace gp
