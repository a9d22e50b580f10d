#include "formats/text_file.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include "base/file.h"
#include "base/temporary_directory.h"

namespace gp::formats {
namespace {

using ::testing::HasSubstr;

// One member of a gzip file.
std::string Gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

class TextFileTest : public ::testing::Test {
 protected:
  StatusOr<std::string> Read(const std::string& bytes, uint64_t text_bytes_max = 1 << 24) {
    EXPECT_TRUE(WriteFileAtomically(path_, bytes).ok());
    return ReadTextFile(path_, text_bytes_max);
  }
  std::string ErrorOf(const std::string& bytes) { return Message(Read(bytes).status()); }

  TemporaryDirectory directory_;
  const std::string path_ = JoinPath(directory_.path(), "text");
};

TEST_F(TextFileTest, ReadsPlainAndPackedTextAlike) {
  for (const std::string& text :
       {std::string(), std::string("short"), std::string((1 << 20) - 1, 'a'),
        std::string(1 << 20, 'b'), std::string(3'000'001, 'c')}) {
    EXPECT_EQ(Read(text).value(), text);
    EXPECT_EQ(Read(Gzip(text)).value(), text);
    EXPECT_EQ(Read(Gzip(text) + Gzip("more") + std::string(5, '\0')).value(), text + "more");
  }
}

TEST_F(TextFileTest, EveryTruncationOfAPackedTextIsRefused) {
  const std::string file = Gzip("a text that is packed, packed, packed");
  for (size_t size = 2; size < file.size(); ++size) {
    EXPECT_THAT(ErrorOf(file.substr(0, size)), HasSubstr("is cut short at byte")) << size;
  }
}

TEST_F(TextFileTest, NamesFileAndPlaceOfDamage) {
  std::string file = Gzip(std::string(1000, 'x'));
  file[file.size() - 6] ^= 1;  // of the checksum
  EXPECT_THAT(ErrorOf(file), HasSubstr(path_ + " is damaged near byte"));
  EXPECT_THAT(ErrorOf(file), HasSubstr("incorrect data check"));
  EXPECT_THAT(ErrorOf("\x1f\x8b\x08 and more"), HasSubstr("is damaged near byte"));
  EXPECT_THAT(ErrorOf(Gzip("x") + "garbage"), HasSubstr("is damaged near byte"));
}

TEST_F(TextFileTest, ASmallFileCannotTakeMoreMemoryThanAllowed) {
  const std::string bomb = Gzip(std::string(1 << 24, '\0'));
  ASSERT_LT(bomb.size(), 20'000u);
  uint64_t taken = 0;
  ASSERT_TRUE(WriteFileAtomically(path_, bomb).ok());
  const Status status = ReadTextFile(path_, 3 << 20, [&](std::string_view piece) {
    taken += piece.size();
    return OkStatus();
  });
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("longer than the 3145728 bytes"));
  EXPECT_LE(taken, 3u << 20);
}

TEST_F(TextFileTest, RefusesOtherPackingsWithTheCommandThatUnpacks) {
  EXPECT_THAT(ErrorOf("\x28\xb5\x2f\xfd more"), HasSubstr("'zstd -d " + path_ + "'"));
  EXPECT_THAT(ErrorOf("\xfd"
                      "7zXZ"),
              HasSubstr("xz -dk"));
  EXPECT_THAT(ErrorOf("BZh9"), HasSubstr("bzip2 -dk"));
  EXPECT_THAT(ErrorOf("PK\x03\x04 zip"), HasSubstr("unzip"));
}

TEST_F(TextFileTest, StopsWhenItsReaderHasEnough) {
  ASSERT_TRUE(WriteFileAtomically(path_, std::string(5 << 20, 'x')).ok());
  int pieces = 0;
  const Status status = ReadTextFile(path_, 1 << 30, [&](std::string_view) {
    return ++pieces == 2 ? Cancelled("enough") : OkStatus();
  });
  EXPECT_EQ(Message(status), "enough");
  EXPECT_EQ(pieces, 2);
}

}  // namespace
}  // namespace gp::formats
