#include "formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::formats {
namespace {

using ::testing::HasSubstr;

// A file with this header text and `data_bytes` bytes of data.
std::string File(const std::string& header, size_t data_bytes) {
  std::string file;
  for (uint64_t i = 0, length = header.size(); i < 8; ++i, length >>= 8) {
    file.push_back(static_cast<char>(length & 0xff));
  }
  return file + header + std::string(data_bytes, '\x01');
}

StatusOr<SafetensorsHeader> Parse(const std::string& file) {
  return ParseSafetensorsHeader(file, file.size(), "model.safetensors");
}

std::string ErrorOf(const std::string& file) {
  const auto header = Parse(file);
  EXPECT_FALSE(header.ok()) << file;
  return header.ok() ? "" : Message(header.status());
}

std::string GoodFile() {
  const std::string header =
      FormatSafetensorsHeader({{.name = "a", .dtype = "F32", .shape = {2, 3}},
                               {.name = "b", .dtype = "BF16", .shape = {5}},
                               {.name = "scalar", .dtype = "F64", .shape = {}},
                               {.name = "none", .dtype = "F32", .shape = {0, 4}}},
                              {{"gp.step", "7"}});
  return header + std::string(24 + 10 + 8, '\x02');
}

TEST(Safetensors, WriterAndReaderAgree) {
  const std::string file = GoodFile();
  const auto header = Parse(file);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->data_offset % 64, 0u);
  EXPECT_EQ(header->metadata, (std::map<std::string, std::string>{{"gp.step", "7"}}));
  ASSERT_EQ(header->tensors.size(), 4u);
  EXPECT_EQ(header->Find("b")->begin, 24u);
  EXPECT_EQ(header->Find("b")->end, 34u);
  EXPECT_EQ(header->Find("scalar")->end, 42u);
  EXPECT_EQ(header->Find("missing"), nullptr);
  EXPECT_THAT(file, HasSubstr(R"("format":"pt")"));
}

TEST(Safetensors, ATensorHasExactlyTheBytesOfItsShape) {
  for (const char* offsets : {"[0,20]", "[0,28]"}) {
    const std::string header =
        std::string(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":)") + offsets + "}}";
    const size_t data_bytes = static_cast<size_t>(std::stoi(std::string(offsets).substr(3)));
    EXPECT_THAT(ErrorOf(File(header, data_bytes)), HasSubstr("its shape and type need 24"));
  }
}

TEST(Safetensors, MapsTensorsFromAFile) {
  TemporaryDirectory directory;
  const std::string path = directory.File("model.safetensors");
  ASSERT_TRUE(WriteFileAtomically(path, GoodFile()).ok());
  const auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Data(*file->header().Find("b")), std::string(10, '\x02'));
  EXPECT_EQ(SafetensorsFile::Open(directory.path()).status().code(), StatusCode::kInvalidArgument);
  // A pipe is refused, too, without waiting for its writer.
  ASSERT_EQ(mkfifo(directory.File("pipe").c_str(), 0600), 0);
  EXPECT_EQ(SafetensorsFile::Open(directory.File("pipe")).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string file = GoodFile();
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_THAT(ErrorOf(file.substr(0, size)), HasSubstr("model.safetensors"));
  }
}

TEST(Safetensors, NoSingleFlippedBitOfTheHeaderCrashesTheReader) {
  const std::string file = GoodFile();
  const size_t header_bytes = Parse(file)->data_offset;
  for (size_t bit = 0; bit < header_bytes * 8; ++bit) {
    std::string damaged = file;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const auto header = Parse(damaged);
    if (!header.ok()) continue;
    for (const TensorEntry& tensor : header->tensors) {
      EXPECT_LE(header->data_offset + tensor.end, damaged.size());
    }
  }
}

TEST(Safetensors, RefusesSizesThatAreNotThere) {
  std::string huge(8, '\xff');
  EXPECT_THAT(ErrorOf(huge + "{}"), HasSubstr("at most 100000000"));
  std::string beyond = File("{}", 0);
  beyond[0] = 100;
  EXPECT_THAT(ErrorOf(beyond), HasSubstr("the file has only"));
  EXPECT_THAT(ErrorOf(File(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4)),
              HasSubstr("ends at byte 8"));
  EXPECT_THAT(ErrorOf(File(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5)),
              HasSubstr("1 bytes follow the last tensor"));
}

TEST(Safetensors, RefusesOverlapsHolesOverflowsAndDuplicates) {
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  EXPECT_THAT(
      ErrorOf(File("{" + a + R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12)),
      HasSubstr("an overlap"));
  EXPECT_THAT(
      ErrorOf(File("{" + a + R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[12,20]}})", 20)),
      HasSubstr("a hole"));
  EXPECT_THAT(ErrorOf(File("{" + a + "," + a + "}", 8)), HasSubstr("the key 'a' occurs twice"));
  EXPECT_THAT(
      ErrorOf(File(
          R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,0]}})", 0)),
      HasSubstr("overflows"));
  EXPECT_THAT(ErrorOf(File(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8)),
              HasSubstr("begins at byte 8"));
  EXPECT_THAT(ErrorOf(File(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8)),
              HasSubstr("its shape and type need 12"));
}

TEST(Safetensors, RefusesWhatIsNoHeader) {
  for (const char* header :
       {"", "[]", " {}", "{", "null", "{\"a\":1}", R"({"a":{"dtype":"F32","shape":[1]}})",
        R"({"a":{"dtype":"X9","shape":[1],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":"1","data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", R"({"__metadata__":{"a":1}})",
        R"({"__metadata__":[]})"}) {
    EXPECT_FALSE(Parse(File(header, 4)).ok()) << header;
  }
}

// Random bytes as header text: the reader always returns.
TEST(Safetensors, SurvivesNoise) {
  const uint32_t seed = 20261121;
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string header = "{";
    const size_t length = random() % 64;
    static constexpr std::string_view kAlphabet = "{}[]\",:0123456789.-eadtypeshape_";
    for (size_t i = 0; i < length; ++i) header += kAlphabet[random() % kAlphabet.size()];
    Parse(File(header, random() % 16)).status().IgnoreError();
  }
}

}  // namespace
}  // namespace gp::formats
