#include "formats/old_pickle.h"

#include <gmock/gmock.h>

#include <string>

#include "formats/file_kind.h"

namespace gp::formats {
namespace {

using namespace std::string_literals;

// Outputs of Python's pickle.dumps() with protocols 0 and 1.
TEST(OldPickle, IsRecognised) {
  for (
      const std::string& bytes :
      {"(lp0\nI1\naI2\naI3\na."s, "(dp0\nVtext\np1\nVA short text.\np2\ns."s,
       "(lp0\nVfirst\np1\naVsecond line\np2\na."s,
       "c__builtin__\nset\np0\n((lp1\nI1\naI2\natp2\nRp3\n."s,
       "ccopy_reg\n_reconstructor\np0\n(c__main__\nThing\np1\nc__builtin__\nobject\np2\nNtp3\nRp4\n."s,
       "cnumpy.core.multiarray\n_reconstruct\np0\n(cnumpy\nndarray\np1\n(I0\ntp2\nVb\np3\ntp4\nRp5\n."s,
       "(I1\nI2\nI3\nt."s, "I42\n."s, "F0.5\n."s, "L5L\n."s, "S'bytes'\np0\n."s, "Vone\np0\n."s,
       "(lp0\nL5L\naF1e-3\naNaI01\na."s, "]q\0(K\1K\2K\3e."s,
       "}q\0X\4\0\0\0textq\1X\5\0\0\0wordsq\2s."s}) {
    EXPECT_TRUE(IsOldPickle(bytes, true)) << bytes;
    const FileKind* const kind = RecogniseKind(bytes);
    ASSERT_NE(kind, nullptr) << bytes;
    EXPECT_EQ(kind->what, "a pickle");
  }
}

TEST(OldPickle, IsRecognisedByItsBeginning) {
  std::string bytes = "(lp0\n";
  for (int i = 1; bytes.size() < 4 * kKindBytes; ++i) {
    bytes += "VSome text of the document " + std::to_string(i) + "\np" + std::to_string(i) + "\na";
  }
  for (size_t size = 20; size < kKindBytes; ++size) {
    EXPECT_TRUE(IsOldPickle(bytes.substr(0, size), false)) << size;
    EXPECT_FALSE(IsOldPickle(bytes.substr(0, size), true)) << size;
  }
  EXPECT_NE(RecogniseKind(bytes), nullptr);
  EXPECT_TRUE(IsOldPickle("VOne line\\u000aAnother line of a long text", false));
  EXPECT_FALSE(IsOldPickle("VOne line\nAnother line with \\u000a in it", false));
  EXPECT_FALSE(IsOldPickle("Very long line of a text", false));
}

TEST(OldPickle, TextIsNone) {
  std::string words, labels, pins, functions;
  for (int i = 0; words.size() < kKindBytes || labels.size() < kKindBytes; ++i) {
    words += "c" + std::string(static_cast<size_t>(3 + i % 7), 'a') + "\n";
    labels += "L" + std::to_string(i) + "\n";
    pins += "p" + std::to_string(i) + "\n";
    functions += "F" + std::to_string(i) + "\nI" + std::to_string(i) + "\n";
  }
  for (const std::string& text :
       {""s, "a"s, "."s, "(a)"s, "abuse."s, "lost"s, "(see below)\n"s, "cat\ndog\n."s, "Victor\n."s,
        "I5\n"s, "I am here\n."s, "(lp0 is how a pickle begins\n"s, "p0\np1\n"s, words, labels,
        pins, functions, std::string(600, 'K'), std::string(600, 'a')}) {
    EXPECT_EQ(RecogniseKind(text), nullptr) << text;
  }
}

}  // namespace
}  // namespace gp::formats
