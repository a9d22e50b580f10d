#include "formats/dataset_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/base/temporary_directory.h"

namespace gp::formats {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

DatasetFile ExampleDataset() {
  return {
      .form = {ShardFormat::kNpy, 2},
      .tokenizer_kind = "gpt2",
      .tokenizer_sha256 = "ab12",
      .vocabulary = 50257,
      .end_of_text = 50256,
      .placement = EndOfTextPlacement::kBefore,
      .shards = {{"d_val_000000.npy", "val", 10, "00"}, {"d_train_000001.npy", "train", 7, "11"}},
      .sources = {{"a.jsonl", 1234}, {"-", 0}},
      .documents = 3,
      .empty_documents = 1,
      .text_bytes = 99,
      .spelled_ends = {{"<|endoftext|>", 19}},
      .created_by = "gp 0.1.0"};
}

std::string With(const std::string& pointer, const nlohmann::json& value) {
  auto json = nlohmann::json::parse(FormatDatasetFile(ExampleDataset()));
  json[nlohmann::json::json_pointer(pointer)] = value;
  return json.dump();
}

std::string ErrorOf(const std::string& text) {
  const auto parsed = ParseDatasetFile(text, "d/dataset.json");
  EXPECT_EQ(parsed.status().code(), StatusCode::kDataLoss) << text;
  EXPECT_THAT(Message(parsed.status()), HasSubstr("prepare the data again"));
  EXPECT_THAT(Message(parsed.status()), StartsWith("d/dataset.json"));
  return Message(parsed.status());
}

TEST(DatasetFile, IsReadBackAsItWasWritten) {
  const auto parsed = ParseDatasetFile(FormatDatasetFile(ExampleDataset()), "d/dataset.json");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(FormatDatasetFile(*parsed), FormatDatasetFile(ExampleDataset()));
  EXPECT_EQ(parsed->Tokens("train"), 7);
  EXPECT_EQ(parsed->Find("d_val_000000.npy")->tokens, 10);
  EXPECT_EQ(parsed->Find("other"), nullptr);
  EXPECT_EQ(parsed->spelled_ends, ExampleDataset().spelled_ends);
}

TEST(DatasetFile, EveryTruncationIsRefused) {
  const std::string text = FormatDatasetFile(ExampleDataset());
  for (size_t size = 0; size + 2 < text.size(); ++size) ErrorOf(text.substr(0, size));
}

TEST(DatasetFile, NamesTheFieldThatDoesNotFit) {
  EXPECT_THAT(ErrorOf(With("/version", 2)), HasSubstr("d/dataset.json: version 2 is unknown"));
  EXPECT_THAT(ErrorOf(With("/format", "hdf5")), HasSubstr("'format' is 'hdf5', which is unknown"));
  EXPECT_THAT(ErrorOf(With("/documents", -1)), HasSubstr("'documents' is not a whole number"));
  EXPECT_THAT(ErrorOf(With("/tokenizer", 3)), HasSubstr("tokenizer: expected an object"));
  EXPECT_THAT(ErrorOf(With("/shards/1/tokens", 1e300)), HasSubstr("shards[1]: 'tokens' is not"));
  EXPECT_THAT(ErrorOf(With("/shards/0/split", "test")), HasSubstr("'split' is not train or val"));
  EXPECT_THAT(ErrorOf(With("/sources/0", "x")), HasSubstr("sources[0]: expected an object"));
  EXPECT_THAT(ErrorOf(With("/spelled_ends/0/count", "x")), HasSubstr("'count' is not a whole"));
}

TEST(DatasetFile, AShardsNameCannotLeadOutOfItsFolder) {
  for (const char* name : {"../secret", "/etc/passwd", "a/b", "..", "."}) {
    EXPECT_THAT(ErrorOf(With("/shards/0/name", name)), HasSubstr("is not a plain file name"))
        << name;
  }
}

TEST(DatasetFile, AFolderWithoutOneIsSaidToBeSo) {
  TemporaryDirectory directory;
  EXPECT_EQ(ReadDatasetFile(directory.path()).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace gp::formats
