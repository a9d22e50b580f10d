#include "formats/token_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "lib/base/temporary_directory.h"

namespace gp::formats {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TokenShardTest : public ::testing::Test {
 protected:
  StatusOr<TokenShard> Open(const std::string& bytes) {
    const std::string path = directory_.File("shard");
    // Not synced: the tests write a thousand truncated files.
    std::ofstream(path, std::ios::binary) << bytes;
    return TokenShard::Open(path);
  }

  std::string ErrorOf(const std::string& bytes) {
    const auto shard = Open(bytes);
    EXPECT_FALSE(shard.ok());
    return shard.ok() ? "" : Message(shard.status());
  }

  static std::vector<int32_t> All(const TokenShard& shard) {
    std::vector<int32_t> tokens(static_cast<size_t>(shard.size()));
    EXPECT_TRUE(shard.Read(0, 1 << 20, tokens).ok());
    return tokens;
  }

  TemporaryDirectory directory_;
};

const std::vector<int32_t> kTokens = {0, 1, 255, 256, 50256, 65535};

std::string LittleEndian(const std::vector<int32_t>& tokens, int bytes_each) {
  std::string bytes;
  for (const int32_t token : tokens) {
    for (int i = 0; i < bytes_each; ++i) bytes.push_back(static_cast<char>(token >> 8 * i));
  }
  return bytes;
}

std::string Npy(const std::string& type, const std::string& shape, const std::string& data) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  std::string file = "\x93NUMPY";
  file += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
           static_cast<char>(header.size() >> 8)};
  return file + header + data;
}

TEST_F(TokenShardTest, TellsTheFormatsApartByContent) {
  const auto llm_c = Open(FormatLlmCShard(kTokens));
  ASSERT_TRUE(llm_c.ok()) << llm_c.status();
  EXPECT_EQ(llm_c->format(), ShardFormat::kLlmC);
  EXPECT_EQ(All(*llm_c), kTokens);
  const auto npy = Open(Npy("<u2", "(6,)", LittleEndian(kTokens, 2)));
  ASSERT_TRUE(npy.ok()) << npy.status();
  EXPECT_EQ(npy->format(), ShardFormat::kNpy);
  EXPECT_EQ(All(*npy), kTokens);
  const auto raw = Open(LittleEndian(kTokens, 2));
  ASSERT_TRUE(raw.ok()) << raw.status();
  EXPECT_EQ(raw->format(), ShardFormat::kRaw);
  EXPECT_EQ(All(*raw), kTokens);
}

// Ids distributed as in a text, and more than a guess of the format needs.
std::vector<int32_t> ManyTokens(int32_t vocabulary) {
  std::vector<int32_t> tokens;
  for (int64_t i = 1; i < 500; ++i) {
    tokens.push_back(static_cast<int32_t>(i * i * 7919 % vocabulary));
  }
  return tokens;
}

// Case models-and-data/01: four-byte tokens were read as uint16, so every second token was 0.
TEST_F(TokenShardTest, WiderTokensWithoutAHeaderAreRefusedWithTheCommand) {
  EXPECT_THAT(ErrorOf(LittleEndian(ManyTokens(50257), 4)),
              AllOf(HasSubstr("has no header and looks like tokens of 4 bytes"),
                    HasSubstr("data.format: uint16 (gpctl eval --as uint16) reads it"),
                    HasSubstr("np.fromfile"), HasSubstr("'<u4'")));
  EXPECT_THAT(ErrorOf(LittleEndian(ManyTokens(100'277), 4)), HasSubstr("tokens of 4 bytes"));
  std::string wide;
  for (const int32_t token : ManyTokens(50257)) {
    wide += LittleEndian({token}, 4) + std::string(4, '\0');
  }
  EXPECT_THAT(ErrorOf(wide), AllOf(HasSubstr("tokens of 8 bytes"), HasSubstr("'<i8'")));
}

// The tokens in the byte order of a big-endian machine.
std::string BigEndian(const std::vector<int32_t>& tokens, size_t width) {
  std::string bytes;
  for (const int32_t token : tokens) {
    const std::string one = LittleEndian({token}, width);
    bytes.append(one.rbegin(), one.rend());
  }
  return bytes;
}

TEST_F(TokenShardTest, BigEndianTokensAreRefusedWithTheCommand) {
  const std::string bytes = BigEndian(ManyTokens(50257), 2);
  const auto shard = Open(bytes);
  ASSERT_TRUE(shard.ok()) << shard.status();
  EXPECT_THAT(Message(shard->CheckForm(50257)),
              AllOf(HasSubstr("looks like big-endian tokens of 2 bytes"),
                    HasSubstr("data.format: uint16"), HasSubstr("'>u2').astype('<u2')")));
  EXPECT_TRUE(Open(LittleEndian(ManyTokens(50257), 2))->CheckForm(50257).ok());
  EXPECT_THAT(ErrorOf(BigEndian(ManyTokens(50257), 4)),
              AllOf(HasSubstr("looks like big-endian tokens of 4 bytes"), HasSubstr("'>u4'")));
  const std::string path = directory_.File("swapped.bin");
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_TRUE(TokenShard::Open(path, Headerless::kUint16)->CheckForm(50257).ok());
}

TEST_F(TokenShardTest, ABigEndianShardOfLlmCIsRefusedWithTheCommand) {
  std::string header = BigEndian({20240520, 1, 6}, 4);
  header.resize(1024);
  EXPECT_THAT(ErrorOf(header + BigEndian(kTokens, 2)),
              AllOf(HasSubstr("is a big-endian token shard of llm.c"),
                    HasSubstr("np.fromfile(sys.argv[1], '>u2', offset=1024).astype('<u2')")));
  header.replace(0, 4, BigEndian({20240801}, 4));
  EXPECT_THAT(ErrorOf(header), HasSubstr("'>u4', offset=1024"));
}

TEST_F(TokenShardTest, WhatItLooksLikeDoesNotCountWhenTheUserSaysWhatItIs) {
  const std::string path = directory_.File("wide.bin");
  std::ofstream(path, std::ios::binary) << LittleEndian(ManyTokens(50257), 4);
  const auto shard = TokenShard::Open(path, Headerless::kUint16);
  ASSERT_TRUE(shard.ok()) << shard.status();
  EXPECT_EQ(shard->size(), 998);
  EXPECT_TRUE(shard->CheckForm(100'277).ok());
}

TEST_F(TokenShardTest, AVocabularyThatUint16CannotNameNeedsAHeader) {
  const auto raw = Open(LittleEndian(ManyTokens(50257), 2));
  ASSERT_TRUE(raw.ok()) << raw.status();
  EXPECT_TRUE(raw->CheckForm(65536).ok());
  EXPECT_THAT(Message(raw->CheckForm(65537)), HasSubstr("needs 4 bytes a token"));
  EXPECT_TRUE(Open(FormatLlmCShard(kTokens))->CheckForm(100'277).ok());
}

TEST_F(TokenShardTest, WhatIsNoTokensIsNamed) {
  EXPECT_THAT(ErrorOf("A text that is named as tokens.\n"), HasSubstr("looks like text"));
  EXPECT_THAT(ErrorOf("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n"),
              HasSubstr("is a Git LFS pointer and not the file itself, expected tokens"));
  EXPECT_THAT(ErrorOf(std::string("\x1f\x8b\x08\0", 4)), HasSubstr("compressed by gzip"));
}

TEST_F(TokenShardTest, TextOfAnotherEncodingOrWithDamageIsNoTokens) {
  std::string windows, plain;
  for (int i = 0; i < 20; ++i) windows += "He said: \x93It\x92s fine\x94 \x96 and left the house..";
  for (int i = 0; i < 20; ++i) plain += "She did not answer him at all. ";
  EXPECT_THAT(
      ErrorOf(windows),
      AllOf(HasSubstr("looks like text that is not UTF-8, probably Windows-1252 or Latin-1"),
            HasSubstr("data.format: uint16")));
  EXPECT_THAT(ErrorOf(plain + "\x92" + plain + "."), HasSubstr("text belongs in data.text"));
}

TEST_F(TokenShardTest, TokensOfOneByteAreRefusedWithTheCommand) {
  std::string bytes;
  for (int i = 0; i < 6; ++i) bytes += LittleEndian(ManyTokens(65), 1);
  EXPECT_THAT(ErrorOf(bytes), AllOf(HasSubstr("tokens of 1 byte"), HasSubstr("data.format: uint16"),
                                    HasSubstr("'u1').astype('<u2')")));
}

// Not only the beginning of a file is checked.
TEST_F(TokenShardTest, WhatComesAfterTokensIsLookedAt) {
  std::vector<int32_t> many;
  while (many.size() < 60'000) {
    const auto more = ManyTokens(50257);
    many.insert(many.end(), more.begin(), more.end());
  }
  const std::string tokens = LittleEndian(many, 2);
  ASSERT_TRUE(Open(tokens).ok()) << Open(tokens).status();
  std::string text;
  while (text.size() < 100'000) text += "A text that follows the tokens, " + text.substr(0, 90);
  EXPECT_THAT(ErrorOf(tokens + text), AllOf(HasSubstr("begins like tokens, but near byte "),
                                            HasSubstr("data.format: uint16")));
  EXPECT_THAT(ErrorOf(tokens + LittleEndian(many, 4)),
              HasSubstr("begins like tokens, but near byte "));
  EXPECT_THAT(ErrorOf(tokens + std::string(200'000, '\0') + tokens), HasSubstr("zero bytes"));
  EXPECT_THAT(
      ErrorOf(tokens + std::string(40'000, '\0')),
      HasSubstr("ends with at least 40000 bytes of value 0, as after an interrupted download"));
  EXPECT_TRUE(Open(tokens + std::string(4'000, '\0')).ok()) << "a padded text";
  const std::string path = directory_.File("shard");
  std::ofstream(path, std::ios::binary) << tokens + text;
  EXPECT_TRUE(TokenShard::Open(path, Headerless::kUint16).ok());
}

TEST_F(TokenShardTest, NumbersThatAreNoTokensAreRefused) {
  std::string floats, columns;
  for (int64_t i = 0; i < 4000; ++i) {
    const auto token = static_cast<int32_t>(i % 4 == 0 ? i * 7 % 60 : i * i * 7919 % 50257);
    const auto id = static_cast<float>(token);
    floats.append(reinterpret_cast<const char*>(&id), sizeof id);
    columns += LittleEndian({token, static_cast<int32_t>(i % 90)}, 2);
  }
  EXPECT_THAT(ErrorOf(floats),
              AllOf(HasSubstr("looks like whole numbers that are stored as float32"),
                    HasSubstr("'<f4').astype('<u4')")));
  EXPECT_THAT(ErrorOf(columns), AllOf(HasSubstr("looks like records of 2 columns"),
                                      HasSubstr("'<u2')[0::2]"), HasSubstr("data.format: uint16")));
}

TEST_F(TokenShardTest, WordsWithZerosBetweenThemAreText) {
  std::string words;
  for (int i = 0; i < 300; ++i) words += std::string("hello") + '\0' + std::string("world") + '\0';
  EXPECT_THAT(ErrorOf(words), HasSubstr("expected tokens"));
}

TEST_F(TokenShardTest, AFileThatWasNeverWrittenIsRefused) {
  EXPECT_THAT(ErrorOf(std::string(20'000, '\0')),
              AllOf(HasSubstr("looks like 20000 zero bytes"), HasSubstr("never written"),
                    HasSubstr("data.format: uint16")));
}

TEST_F(TokenShardTest, TextInTwoBytesIsRefusedWithTheCommandAndTheKey) {
  std::vector<int32_t> characters;
  for (const char c : std::string("Words of some text, one after the other.\n")) {
    characters.push_back(c);
  }
  EXPECT_THAT(ErrorOf(LittleEndian(characters, 2)),
              AllOf(HasSubstr("looks like text in UTF-16LE, expected tokens"),
                    HasSubstr("iconv -f UTF-16LE -t UTF-8 " + directory_.File("shard")),
                    HasSubstr("data.format: uint16 (gpctl eval --as uint16) reads it")));
  EXPECT_THAT(ErrorOf(BigEndian(characters, 2)), HasSubstr("text in UTF-16BE"));
  EXPECT_THAT(ErrorOf(LittleEndian(characters, 4)), HasSubstr("text in UTF-32LE"));
  EXPECT_THAT(ErrorOf("\xff\xfe" + LittleEndian(characters, 2)),
              HasSubstr("is text in UTF-16, expected tokens"));
}

TEST_F(TokenShardTest, JsonIsRefusedWithTheCommand) {
  EXPECT_THAT(ErrorOf("[464, 3290, 318, 257, 2042, 3290]"),
              AllOf(HasSubstr("looks like a list of numbers in JSON, expected tokens;"),
                    HasSubstr("np.hstack"), HasSubstr("data.format: uint16")));
  EXPECT_THAT(ErrorOf("[464,3290,318,257,2042,3290,13,198,464]"), HasSubstr("a list of numbers"));
}

TEST_F(TokenShardTest, NegativeNumbersAreNamed) {
  std::vector<int32_t> labels = ManyTokens(50257);
  for (size_t at = 0; at < labels.size(); at += 4) labels[at] = -100;
  EXPECT_THAT(ErrorOf(LittleEndian(labels, 4)),
              AllOf(HasSubstr("tokens of 4 bytes"), HasSubstr("-100 masks labels in training"),
                    HasSubstr("data.format: uint16")));
}

TEST_F(TokenShardTest, ReadsFourByteTokens) {
  const std::vector<int32_t> large = {3, 100'000};
  EXPECT_EQ(All(*Open(Npy("<u4", "(2,)", LittleEndian(large, 4)))), large);
  EXPECT_EQ(All(*Open(Npy("<i4", "(2,)", LittleEndian(large, 4)))), large);
  std::string llm_c = LittleEndian({20240801, 7, 2}, 4);
  llm_c.resize(1024);
  EXPECT_EQ(All(*Open(llm_c + LittleEndian(large, 4))), large);
}

TEST_F(TokenShardTest, ReadsFromAnyOffsetInEveryFormat) {
  const std::vector<int32_t> values = {10, 11, 12, 13, 14, 15, 16, 17};
  std::string wide_llm_c = LittleEndian({20240801, 7, 8}, 4);
  wide_llm_c.resize(1024);
  for (const std::string& file :
       {FormatLlmCShard(values), wide_llm_c + LittleEndian(values, 4),
        Npy("<u2", "(8,)", LittleEndian(values, 2)), Npy("<u4", "(8,)", LittleEndian(values, 4)),
        Npy("<i4", "(8,)", LittleEndian(values, 4)), LittleEndian(values, 2)}) {
    const auto shard = Open(file);
    ASSERT_TRUE(shard.ok()) << shard.status();
    for (int64_t offset = 0; offset < 8; ++offset) {
      std::vector<int32_t> tokens(static_cast<size_t>(8 - offset));
      ASSERT_TRUE(shard->Read(offset, 18, tokens).ok());
      EXPECT_EQ(tokens, std::vector<int32_t>(values.begin() + offset, values.end()))
          << ShardFormatName(shard->format()) << " from " << offset;
    }
    std::vector<int32_t> last(1);
    EXPECT_FALSE(shard->Read(7, 17, last).ok()) << "17 is not below a vocabulary of 17";
  }
}

TEST_F(TokenShardTest, EveryTruncationOfALlmCShardIsRefused) {
  const std::string file = FormatLlmCShard(kTokens);
  // A file shorter than the magic number counts as raw tokens, or has an odd number of bytes.
  for (size_t size = 4; size < file.size(); ++size) {
    EXPECT_THAT(ErrorOf(file.substr(0, size)), HasSubstr("prepare it again")) << size;
  }
  EXPECT_THAT(ErrorOf(file + "xx"), HasSubstr("declares 6 tokens"));
}

TEST_F(TokenShardTest, EveryTruncationOfANumPyShardIsRefused) {
  const std::string file = Npy("<u2", "(6,)", LittleEndian(kTokens, 2));
  for (size_t size = 6; size < file.size(); ++size) {
    EXPECT_FALSE(ErrorOf(file.substr(0, size)).empty()) << size;
  }
}

TEST_F(TokenShardTest, RefusesHeadersThatLie) {
  EXPECT_THAT(ErrorOf(Npy("<u2", "(9223372036854775807,)", "ab")), HasSubstr("declares"));
  EXPECT_THAT(ErrorOf(Npy("<u2", "(3, 2)", LittleEndian(kTokens, 2))), HasSubstr("one dimension"));
  EXPECT_THAT(ErrorOf(Npy("<f4", "(3,)", LittleEndian(kTokens, 2))), HasSubstr("NumPy type '<f4'"));
  for (const char* type : {"<uZ", "<u", "", "O", "u2u2u2", "'<'", ">f8"}) {
    EXPECT_THAT(ErrorOf(Npy(type, "(6,)", LittleEndian(kTokens, 2))),
                HasSubstr("token ids are whole numbers"));
  }
  EXPECT_THAT(ErrorOf(std::string("\x93NUMPY\x09\x00", 8) + "xx"),
              HasSubstr("version 9 at byte 6"));
  std::string version = FormatLlmCShard(kTokens);
  version[4] = 2;
  EXPECT_THAT(ErrorOf(version), HasSubstr("version 2 at byte 4, expected 1"));
  std::string negative = FormatLlmCShard(kTokens);
  negative[11] = '\x80';
  EXPECT_THAT(ErrorOf(negative), HasSubstr("negative"));
}

TEST_F(TokenShardTest, SaysHowToConvertOtherNumPyTypes) {
  const struct {
    const char* type;
    const char* words;
    const char* converted;
  } cases[] = {{">u2", "big-endian uint16", "<u2"},
               {"<i8", "int64", "<u4"},
               {">i8", "big-endian int64", "<u4"},
               {">u4", "big-endian uint32", "<u4"},
               {"<i2", "int16", "<u2"},
               {"|u1", "uint8", "<u2"}};
  for (const auto& [type, words, converted] : cases) {
    const std::string error = ErrorOf(Npy(type, "(6,)", LittleEndian(kTokens, 2)));
    EXPECT_THAT(error, HasSubstr(fmt::format("NumPy type '{}' ({})", type, words)));
    EXPECT_THAT(error, HasSubstr(fmt::format("astype('{}'))\"", converted)));
    EXPECT_THAT(error, HasSubstr("convert it: python3 -c \"import sys, numpy as np; np.save("));
    EXPECT_THAT(
        error, HasSubstr(fmt::format(" {0} {0}-{1}.npy", directory_.File("shard"), converted + 1)));
  }
}

TEST_F(TokenShardTest, RefusesWhatHoldsNoTokens) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("is empty"));
  EXPECT_THAT(ErrorOf("abc"), HasSubstr("not a whole number of uint16 tokens"));
  EXPECT_EQ(TokenShard::Open(directory_.File("missing")).status().code(), StatusCode::kNotFound);
}

TEST_F(TokenShardTest, APipeIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(mkfifo(directory_.File("pipe").c_str(), 0600), 0);
  EXPECT_THAT(Message(TokenShard::Open(directory_.File("pipe")).status()),
              HasSubstr("is not a regular file"));
}

TEST_F(TokenShardTest, NamesATokenBeyondTheVocabulary) {
  const auto shard = Open(FormatLlmCShard(kTokens));
  std::vector<int32_t> tokens(3);
  EXPECT_TRUE(shard->Read(0, 256, tokens).ok());
  const Status status = shard->Read(2, 256, tokens);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("token 256 at position 3"));
}

TEST_F(TokenShardTest, AFileThatIsCutShortMeanwhileIsAnErrorAndNoCrash) {
  const std::vector<int32_t> many(100'000, 7);
  const auto shard = Open(FormatLlmCShard(many));
  std::vector<int32_t> tokens(10);
  ASSERT_TRUE(shard->Read(99'990, 256, tokens).ok());
  std::filesystem::resize_file(directory_.File("shard"), 150'001);
  EXPECT_TRUE(shard->Read(0, 256, tokens).ok());
  const Status status = shard->Read(99'990, 256, tokens);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("cut short while in use"));
}

TEST_F(TokenShardTest, FingerprintSeesBothEnds) {
  std::vector<int32_t> tokens(100'000, 7);
  const std::string original = Open(FormatLlmCShard(tokens))->Fingerprint();
  EXPECT_EQ(Open(FormatLlmCShard(tokens))->Fingerprint(), original);
  tokens.back() = 8;
  EXPECT_NE(Open(FormatLlmCShard(tokens))->Fingerprint(), original);
  tokens.back() = 7;
  tokens.front() = 8;
  EXPECT_NE(Open(FormatLlmCShard(tokens))->Fingerprint(), original);
}

}  // namespace
}  // namespace gp::formats
