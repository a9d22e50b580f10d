#include "formats/shard_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::formats {
namespace {

using ::testing::HasSubstr;

std::string Tokens(const std::vector<int32_t>& tokens, int bytes_each) {
  std::string bytes;
  for (const int32_t token : tokens) {
    for (int i = 0; i < bytes_each; ++i) bytes.push_back(static_cast<char>(token >> 8 * i));
  }
  return bytes;
}

class ShardWriterTest : public ::testing::TestWithParam<ShardForm> {
 protected:
  std::vector<int32_t> Written() {
    const auto shard = TokenShard::Open(path_);
    EXPECT_TRUE(shard.ok()) << shard.status();
    if (!shard.ok()) return {};
    EXPECT_EQ(shard->format(), form().format);
    std::vector<int32_t> tokens(static_cast<size_t>(shard->size()));
    EXPECT_TRUE(shard->Read(0, 1 << 20, tokens).ok());
    return tokens;
  }
  ShardForm form() const { return GetParam(); }
  std::string Bytes(const std::vector<int32_t>& tokens) const {
    return Tokens(tokens, form().token_bytes);
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("shard");
};

TEST_P(ShardWriterTest, WritesWhatItsReaderReads) {
  auto writer = ShardWriter::Create(path_, form());
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE(writer->Append(Bytes({1, 2})).ok());
  ASSERT_TRUE(writer->Append(Bytes({50256, 65535})).ok());
  EXPECT_FALSE(FileExists(path_));
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(Written(), (std::vector<int32_t>{1, 2, 50256, 65535}));
  EXPECT_FALSE(FileExists(PartialShardPath(path_)));
}

TEST_P(ShardWriterTest, GoesOnBehindWhatWasSynced) {
  {
    auto writer = ShardWriter::Create(path_, form());
    ASSERT_TRUE(writer->Append(Bytes({1, 2, 3})).ok());
    ASSERT_TRUE(writer->Sync().ok());
    ASSERT_TRUE(writer->Append(Bytes({9, 9})).ok());
  }
  for (int time = 0; time < 2; ++time) {  // before and after the first attempt was finished
    auto writer = ShardWriter::Resume(path_, form(), 3);
    ASSERT_TRUE(writer.ok()) << writer.status();
    EXPECT_EQ(writer->size(), 3);
    ASSERT_TRUE(writer->Append(Bytes({4})).ok());
    ASSERT_TRUE(writer->Finish().ok());
    EXPECT_EQ(Written(), (std::vector<int32_t>{1, 2, 3, 4}));
  }
}

TEST_P(ShardWriterTest, RefusesToGoOnWithLessThanWasPromised) {
  auto writer = ShardWriter::Create(path_, form());
  ASSERT_TRUE(writer->Append(Bytes({1, 2, 3})).ok());
  const auto resumed = ShardWriter::Resume(path_, form(), 4);
  EXPECT_EQ(resumed.status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(ShardWriter::Resume(directory_.File("none"), form(), 1).status().code(),
            StatusCode::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(Forms, ShardWriterTest,
                         ::testing::Values(ShardForm{ShardFormat::kLlmC, 2},
                                           ShardForm{ShardFormat::kLlmC, 4},
                                           ShardForm{ShardFormat::kNpy, 2},
                                           ShardForm{ShardFormat::kNpy, 4},
                                           ShardForm{ShardFormat::kRaw, 2}));

// The header that numpy.save writes for an array of 100,000,000 uint16.
TEST(ShardHeader, IsNumPysOwn) {
  const std::string header = ShardHeader({ShardFormat::kNpy, 2}, 100'000'000);
  EXPECT_EQ(header.size(), 128u);
  EXPECT_TRUE(
      header.starts_with(std::string("\x93NUMPY\x01\x00v\x00", 10) +
                         "{'descr': '<u2', 'fortran_order': False, 'shape': (100000000,), }   "));
  EXPECT_EQ(header.back(), '\n');
}

TEST(ShardWriter, NanoGptsFormHasNoRoomForLargeIds) {
  TemporaryDirectory directory;
  const auto writer = ShardWriter::Create(directory.File("train.bin"), {ShardFormat::kRaw, 4});
  EXPECT_EQ(writer.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(writer.status()), HasSubstr("uint16 only"));
}

}  // namespace
}  // namespace gp::formats
