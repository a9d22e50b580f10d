#include "tokenizer/data/dataset_agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "formats/dataset_file.h"
#include "formats/token_shard.h"
#include "lib/base/temporary_directory.h"
#include "tokenizer/byte_tokenizer.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/data/data_report.h"

namespace gp {
namespace {

using ::testing::HasSubstr;

// A prepared folder with one shard of five tokens, made with the byte tokenizer.
class DatasetAgreementTest : public ::testing::Test {
 protected:
  DatasetAgreementTest() {
    const std::vector<int32_t> tokens = {1, 2, 3, 4, 5};
    EXPECT_TRUE(WriteFileAtomically(shard_, formats::FormatLlmCShard(tokens)).ok());
    dataset_.tokenizer_kind = "bytes";
    dataset_.tokenizer_sha256 = ByteTokenizer().Fingerprint();
    dataset_.vocabulary = 256;
    dataset_.shards = {{"d_train_000001.bin", "train", 5, "00"}};
    WriteDataset();
  }
  void WriteDataset() {
    const std::string path = directory_.File(formats::kDatasetFileName);
    EXPECT_TRUE(WriteFileAtomically(path, formats::FormatDatasetFile(dataset_)).ok());
  }

  TemporaryDirectory directory_;
  const std::string shard_ = directory_.File("d_train_000001.bin");
  formats::DatasetFile dataset_;
};

TEST_F(DatasetAgreementTest, ShardsPassWithTheTokenizerThatMadeThem) {
  EXPECT_TRUE(CheckShardsAgree({shard_}, "data.train", ByteTokenizer()).ok());
}

TEST_F(DatasetAgreementTest, AnotherTokenizerIsNamedWithTheOneToTake) {
  const auto chars = CharTokenizer::FromText("abcdef");
  const Status status = CheckShardsAgree({shard_}, "data.train", **chars);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("data.train: " + directory_.path() +
                                         " was made with the tokenizer bytes (256 ids, sha256 "));
  EXPECT_THAT(Message(status), HasSubstr("this run's is chars (6 ids"));
  EXPECT_THAT(Message(status), HasSubstr("set data.tokenizer: bytes"));
}

TEST_F(DatasetAgreementTest, ARunIsRefusedBeforeItStarts) {
  runspec::RunSpec spec;
  spec.data.train = {shard_};
  spec.data.val = {shard_};
  spec.data.tokenizer = "bytes";
  spec.batch.sequence = 2;
  EXPECT_TRUE(InspectData(spec).ok()) << InspectData(spec).status();
  dataset_.tokenizer_sha256 = "0123456789abcdef";
  dataset_.tokenizer_kind = "bpe";
  WriteDataset();
  EXPECT_THAT(Message(InspectData(spec).status()),
              HasSubstr("set data.tokenizer: the file that the data was prepared with"));
}

TEST_F(DatasetAgreementTest, AShardOfAnotherSizeIsNamed) {
  dataset_.shards[0].tokens = 6;
  WriteDataset();
  EXPECT_THAT(Message(CheckShardsAgree({shard_}, "data.val", ByteTokenizer())),
              HasSubstr("holds 5 tokens, but dataset.json beside it says 6"));
}

TEST_F(DatasetAgreementTest, OtherShardsAreNoneOfItsConcern) {
  const auto chars = CharTokenizer::FromText("abcdef");
  dataset_.shards[0].name = "other.bin";
  WriteDataset();
  EXPECT_TRUE(CheckShardsAgree({shard_}, "data.train", **chars).ok());
  ASSERT_TRUE(RemoveTree(directory_.File(formats::kDatasetFileName)).ok());
  EXPECT_TRUE(CheckShardsAgree({shard_}, "data.train", **chars).ok());
}

}  // namespace
}  // namespace gp
