#include "formats/text_file.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "formats/text_stream.h"
#include "lib/base/temporary_directory.h"
#include "lib/formats/packed_text.h"

namespace gp::formats {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

class TextFileTest : public ::testing::Test {
 protected:
  StatusOr<std::string> Read(const std::string& bytes, uint64_t text_bytes_max = 1 << 24) {
    EXPECT_TRUE(WriteFileAtomically(path_, bytes).ok());
    return ReadTextFile(path_, {.setting = "data.format: text"}, text_bytes_max);
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
    EXPECT_EQ(Read(Zstd(text)).value(), text);
    EXPECT_EQ(Read(Zstd(text) + Zstd("more")).value(), text + "more");
  }
}

TEST_F(TextFileTest, EveryTruncationOfAPackedTextIsRefused) {
  const std::string file = Gzip("a text that is packed, packed, packed");
  for (size_t size = 2; size < file.size(); ++size) {
    EXPECT_THAT(ErrorOf(file.substr(0, size)), HasSubstr("is cut short at byte")) << size;
  }
  const std::string zstd = Zstd("a text that is packed, packed, packed");
  for (size_t size = 4; size < zstd.size(); ++size) {
    EXPECT_THAT(ErrorOf(zstd.substr(0, size)), HasSubstr("is cut short at byte")) << size;
  }
}

TEST_F(TextFileTest, NamesFileAndPlaceOfDamage) {
  std::string file = Gzip(std::string(1000, 'x'));
  file[file.size() - 6] ^= 1;  // damages the checksum
  EXPECT_THAT(ErrorOf(file), HasSubstr(path_ + " is damaged near byte"));
  EXPECT_THAT(ErrorOf(file), HasSubstr("incorrect data check"));
  EXPECT_THAT(ErrorOf("\x1f\x8b\x08 and more"), HasSubstr("is damaged near byte"));
  EXPECT_THAT(ErrorOf(Gzip("x") + "garbage"), HasSubstr("is damaged near byte"));
  std::string zstd = Zstd(std::string(1000, 'x'));
  zstd.back() ^= 1;  // damages the checksum
  EXPECT_THAT(ErrorOf(zstd), HasSubstr("zstd says"));
  EXPECT_THAT(ErrorOf(Zstd("x") + "garbage"), HasSubstr("is damaged near byte"));
}

TEST_F(TextFileTest, ASmallFileCannotTakeMoreMemoryThanAllowed) {
  const std::string bomb = Gzip(std::string(1 << 24, '\0'));
  ASSERT_LT(bomb.size(), 20'000u);
  uint64_t taken = 0;
  ASSERT_TRUE(WriteFileAtomically(path_, bomb).ok());
  const Status status =
      ReadTextFile(path_, {.any_content = true}, 3 << 20, [&](std::string_view piece) {
        taken += piece.size();
        return OkStatus();
      });
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("longer than 3145728 bytes"));
  EXPECT_LE(taken, 3u << 20);
}

TEST_F(TextFileTest, RefusesOtherPackingsWithTheCommandThatUnpacks) {
  EXPECT_EQ(ErrorOf("\xfd\x37zXZ\0"s),
            path_ + " is compressed by xz, expected text; unpack it: xz -dk " + path_);
  EXPECT_THAT(ErrorOf("BZh91AY&SY"), HasSubstr("bzip2 -dk"));
  EXPECT_THAT(ErrorOf("PK\x03\x04\x14\0"s), HasSubstr("unzip"));
  EXPECT_THAT(ErrorOf("PAR1\x15\x04"), HasSubstr("scripts/parquet_to_jsonl " + path_));
}

TEST_F(TextFileTest, RefusesWhatIsPackedInsideAPackedFile) {
  std::string tar(512, '\0');
  tar.replace(257, 5, "ustar");
  for (const std::string& file : {Gzip(tar), Zstd(tar)}) {
    EXPECT_THAT(ErrorOf(file), HasSubstr("is a tar archive, expected text; unpack it: tar -xf"));
  }
  EXPECT_THAT(ErrorOf(Gzip(Gzip("text"))), HasSubstr("is compressed by gzip"));
}

// Case models-and-data/07: UTF-16 text was used for training as if it were UTF-8.
TEST_F(TextFileTest, RefusesOtherEncodings) {
  EXPECT_THAT(ErrorOf("\xff\xfet\0e\0"s), HasSubstr("is text in UTF-16, expected text"));
  EXPECT_THAT(ErrorOf(Gzip("\xfe\xff\0t"s)), HasSubstr("iconv -f UTF-16 -t UTF-8"));
  EXPECT_THAT(ErrorOf("\xff\xfe\0\0t\0\0\0"s), HasSubstr("is text in UTF-32"));
}

TEST_F(TextFileTest, LeavesOutAByteOrderMark) {
  EXPECT_EQ(Read("\xef\xbb\xbftext").value(), "text");
  EXPECT_EQ(Read(Gzip("\xef\xbb\xbftext")).value(), "text");
  EXPECT_EQ(Read("\xef\xbb\xbf").value(), "");
  EXPECT_EQ(Read("text\xef\xbb\xbf").value(), "text\xef\xbb\xbf");
}

// Not only the beginning is checked; compressed text is checked while it is read.
TEST_F(TextFileTest, WhatComesAfterTheBeginningIsLookedAt) {
  std::string text;
  while (text.size() < 300'000) text += "A line of a text " + std::to_string(text.size()) + ".\n";
  std::string json;
  while (json.size() < 2 * text.size()) json += "{\"text\": \"a line of a text\"}\n";
  EXPECT_EQ(Read(text).value(), text);
  EXPECT_EQ(Read(text + "{\"a\": 1}\n{\"a\": 2}\n" + text).value().size(), 2 * text.size() + 18);
  for (const std::string& more : {std::string(150'000, '\0'), std::string(150'000, '\xb7')}) {
    for (const std::string& file : {text + more, Gzip(text + more), text + more + text}) {
      EXPECT_THAT(ErrorOf(file), HasSubstr(" near byte "));
      EXPECT_TRUE(ReadTextFile(path_, {.any_content = true}, 1 << 24).ok());
    }
  }
  EXPECT_THAT(ErrorOf(text + json), HasSubstr(" looks like lines of JSON near byte "));
}

TEST_F(TextFileTest, WhatLooksLikeSomethingElseIsTakenWhenTheSettingSaysSo) {
  const std::string json = "{\"text\": \"a\"}\n{\"text\": \"b\"}\n";
  EXPECT_EQ(ErrorOf(json),
            path_ +
                " looks like lines of JSON, expected text; data.format: text accepts it anyway; "
                "name it in data.stream, which reads a field of each line");
  EXPECT_EQ(ReadTextFile(path_, {.any_content = true}, 1 << 20).value(), json);
}

TEST_F(TextFileTest, AStreamGoesOnAtAnyByteOfItsText) {
  std::string text;
  for (int i = 0; i < 400'000; ++i) text += std::to_string(i) + " ";
  for (const std::string& file : {text, Gzip(text), Zstd(text)}) {
    ASSERT_TRUE(WriteFileAtomically(path_, file).ok());
    for (const size_t offset : {size_t{0}, size_t{1}, size_t{1} << 20, text.size()}) {
      auto stream = TextStream::Open(path_);
      ASSERT_TRUE(stream.ok()) << stream.status();
      ASSERT_TRUE(stream->Skip(offset).ok());
      std::string rest(text.size() - offset + 1, '\0');
      EXPECT_EQ(stream->Read(rest).value(), text.size() - offset);
      rest.pop_back();
      EXPECT_EQ(rest, text.substr(offset));
    }
    auto stream = TextStream::Open(path_);
    EXPECT_EQ(stream->Skip(text.size() + 1).code(), StatusCode::kDataLoss);
  }
}

TEST_F(TextFileTest, StopsWhenItsReaderHasEnough) {
  ASSERT_TRUE(WriteFileAtomically(path_, std::string(5 << 20, 'x')).ok());
  int pieces = 0;
  const Status status = ReadTextFile(path_, {}, 1 << 30, [&](std::string_view) {
    return ++pieces == 2 ? Cancelled("enough") : OkStatus();
  });
  EXPECT_EQ(Message(status), "enough");
  EXPECT_EQ(pieces, 2);
}

}  // namespace
}  // namespace gp::formats
