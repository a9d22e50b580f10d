#include "corpus/dataset_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "corpus/preparation.h"
#include "lib/base/temporary_directory.h"
#include "lib/corpus/corpus_text.h"
#include "tokenizer/byte_tokenizer.h"

namespace gp::corpus {
namespace {

using ::testing::HasSubstr;

class DatasetCheckTest : public ::testing::Test {
 protected:
  DatasetCheckTest() {
    PreparationOptions options{.directory = folder_};
    options.sources = {OneSource(Write(directory_.File("a.txt"), std::string(100, 'x')))};
    options.val_tokens = 30;
    options.shard_tokens = 50;
    EXPECT_TRUE(PrepareDataset(ByteTokenizer(), options).ok());
  }
  std::string Error() {
    const auto verified = VerifyDataset(folder_);
    EXPECT_EQ(verified.status().code(), StatusCode::kDataLoss);
    return Message(verified.status());
  }
  void Overwrite(const std::string& name, std::streamoff offset, const std::string& bytes) {
    std::fstream file(JoinPath(folder_, name), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset);
    file << bytes;
  }

  TemporaryDirectory directory_;
  const std::string folder_ = directory_.File("data");
};

TEST_F(DatasetCheckTest, PassesWhatWasPrepared) {
  const auto verified = VerifyDataset(folder_);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_EQ(verified->shards.size(), 3u);
}

TEST_F(DatasetCheckTest, NamesTheShardThatIsNotWhatWasWritten) {
  Overwrite("data_train_000001.bin", 1024 + 10, "y");
  EXPECT_THAT(Error(), HasSubstr("data_train_000001.bin has changed since it was written"));
}

TEST_F(DatasetCheckTest, NamesTheShardThatIsCutShort) {
  std::filesystem::resize_file(JoinPath(folder_, "data_train_000002.bin"), 1024 + 38);
  EXPECT_THAT(Error(), HasSubstr("data_train_000002.bin"));
}

TEST_F(DatasetCheckTest, AMissingShardIsNotFound) {
  ASSERT_TRUE(RemoveTree(JoinPath(folder_, "data_val_000000.bin")).ok());
  EXPECT_EQ(VerifyDataset(folder_).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace gp::corpus
