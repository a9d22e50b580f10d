// A saved state is restored bit by bit, and errors name what is damaged.
#include "worker/checkpoint/checkpoint_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "formats/checkpoint_directory.h"
#include "storage/local_storage.h"
#include "worker/checkpoint/checkpoint_fixture.h"

namespace gp::engine {
namespace {

using ::testing::HasSubstr;

class CheckpointReaderTest : public CheckpointFixture {};

TEST_F(CheckpointReaderTest, TheMomentsOfFrozenPartsAreNeitherSavedNorRead) {
  identity_.trained = {.trained = {*runspec::ParseModelPart("last 1 blocks", identity_.shape),
                                   *runspec::ParseModelPart("ln_f", identity_.shape)}};
  const std::string directory = Save(250).directory;
  const auto layout = runspec::MakeParameterLayout(identity_.shape, identity_.trained);
  const auto manifest = ReadCheckpointManifest(storage_, directory, Expectation());
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  const auto file =
      std::find_if(manifest->files.begin(), manifest->files.end(),
                   [](const auto& candidate) { return candidate.name == formats::kOptimizerName; });
  ASSERT_NE(file, manifest->files.end());
  const auto moment_bytes = static_cast<uint64_t>(2 * 4 * runspec::TrainedParameterCount(layout));
  EXPECT_GE(file->size_bytes, moment_bytes);
  EXPECT_LE(file->size_bytes, moment_bytes + 4096) << "and a header";

  std::vector<float> parameters(parameters_.size()), first(parameters_.size(), 9), second = first;
  const Status read =
      ReadTrainingState(storage_, directory, *manifest, layout, parameters, first, second);
  ASSERT_TRUE(read.ok()) << read;
  EXPECT_EQ(parameters, parameters_);
  for (const auto& tensor : layout.tensors) {
    const auto at = static_cast<size_t>(tensor.offset);
    EXPECT_EQ(first[at], tensor.trained ? first_[at] : 9) << tensor.name;
    EXPECT_EQ(second[at], tensor.trained ? second_[at] : 9) << tensor.name;
  }
}

TEST_F(CheckpointReaderTest, ComesBackBitForBit) {
  const SavedCheckpoint saved = Save(250);
  EXPECT_EQ(BaseNameOf(saved.directory), "step-00000250-e3-abcdef");
  EXPECT_TRUE(saved.final);
  const auto manifest = formats::VerifyCheckpoint(saved.directory, saved.manifest_digest);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->step, 250);
  EXPECT_EQ(manifest->tokens, 250 * 768);
  EXPECT_EQ(manifest->validation_loss, 1.5);
  EXPECT_EQ(manifest->record.step_budget, 99);
  EXPECT_EQ(saved.size_bytes,
            manifest->SizeBytes() + *FileSize(JoinPath(saved.directory, "manifest.json")));
  EXPECT_EQ(*ReadTokenizer(storage_, saved.directory, *manifest), identity_.tokenizer);
  EXPECT_TRUE(Load(saved.directory).ok()) << Load(saved.directory);
}

TEST_F(CheckpointReaderTest, VerifyNamesWhatIsWrongThoughEveryDigestMatches) {
  const auto verify = [&](int64_t step) {
    return Message(formats::VerifyCheckpoint(Save(step).directory).status());
  };
  parameters_[17] = std::nanf("");
  EXPECT_THAT(verify(1),
              HasSubstr("model.safetensors: tensor 'wte.weight' is not finite at element 17"));
  parameters_[17] = 0;
  second_[3] = INFINITY;
  EXPECT_THAT(verify(2), HasSubstr("optimizer.safetensors: tensor 'exp_avg_sq.wte.weight'"));
  second_[3] = 0;
  identity_.tokenizer = "{";
  EXPECT_THAT(verify(3), HasSubstr("tokenizer.json does not describe a tokenizer"));
  identity_.tokenizer = R"({"kind":"bytes"})";
  const std::string path = JoinPath(Save(4).directory, "manifest.json");
  auto manifest = *formats::ReadManifest(LocalStorage(), DirectoryOf(path));
  manifest.files.clear();
  ASSERT_TRUE(WriteFileAtomically(path, formats::FormatManifest(manifest)).ok());
  EXPECT_THAT(Message(formats::VerifyCheckpoint(DirectoryOf(path)).status()),
              HasSubstr("does not list model.safetensors"));
}

TEST_F(CheckpointReaderTest, NamesTheFileThatIsCutShortChangedOrMissing) {
  const SavedCheckpoint saved = Save(9);
  for (const std::string name : {"model.safetensors", "optimizer.safetensors", "tokenizer.json"}) {
    const std::string path = JoinPath(saved.directory, name);
    const std::string good = *ReadFile(path);
    std::string flipped = good;
    flipped[flipped.size() / 2] ^= 1;
    for (const std::string& bad :
         {flipped, good.substr(0, good.size() - 1), good + "x", std::string()}) {
      ASSERT_TRUE(WriteFileAtomically(path, bad).ok());
      EXPECT_EQ(Load(saved.directory).code(), StatusCode::kDataLoss);
      EXPECT_THAT(Message(Load(saved.directory)), HasSubstr(name));
      EXPECT_THAT(Message(formats::VerifyCheckpoint(saved.directory).status()), HasSubstr(name));
    }
    ASSERT_TRUE(RemoveTree(path).ok());
    EXPECT_FALSE(Load(saved.directory).ok());
    EXPECT_THAT(Message(formats::VerifyCheckpoint(saved.directory).status()), HasSubstr(name));
    ASSERT_TRUE(WriteFileAtomically(path, good).ok());
  }
  EXPECT_TRUE(Load(saved.directory).ok());
}

TEST_F(CheckpointReaderTest, RefusesWhatIsWholeButDoesNotFit) {
  const SavedCheckpoint saved = Save(9);
  const auto refusal = [&](const CheckpointExpectation& expected) {
    const auto manifest = ReadCheckpointManifest(storage_, saved.directory, expected);
    EXPECT_FALSE(manifest.ok());
    return Message(manifest.status());
  };
  CheckpointExpectation other = Expectation();
  other.shape.layers = 3;
  EXPECT_THAT(refusal(other), HasSubstr("another model"));
  other = Expectation();
  other.data_fingerprint = "other";
  EXPECT_THAT(refusal(other), HasSubstr("other data"));
  other = Expectation();
  other.tokenizer_fingerprint = "other";
  EXPECT_THAT(refusal(other), HasSubstr("another tokenizer"));
  other = Expectation();
  other.manifest_digest = std::string(64, '0');
  EXPECT_THAT(refusal(other), HasSubstr("not the sealed checkpoint"));
  other = Expectation();
  other.shape.dropout = 0.5;
  other.data_fingerprint = "";
  EXPECT_TRUE(ReadCheckpointManifest(storage_, saved.directory, other).ok());
}

TEST_F(CheckpointReaderTest, RefusesTensorsOfAnotherShape) {
  const SavedCheckpoint saved = Save(9);
  auto manifest = *formats::ReadManifest(LocalStorage(), saved.directory);
  manifest.shape.context = 8;
  std::vector<float> parameters(
      static_cast<size_t>(runspec::MakeParameterLayout(manifest.shape).total_count));
  const Status status = ReadWeights(storage_, saved.directory, manifest, parameters);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("wpe.weight"));
  EXPECT_THAT(Message(status), HasSubstr("expected F32 [8, 15]"));
}

TEST_F(CheckpointReaderTest, WeightsByTensorAreTheSameWeights) {
  const SavedCheckpoint saved = Save(9);
  const auto manifest = *formats::ReadManifest(LocalStorage(), saved.directory);
  const auto layout = runspec::MakeParameterLayout(manifest.shape);
  std::vector<float> whole(static_cast<size_t>(layout.total_count));
  ASSERT_TRUE(ReadWeights(storage_, saved.directory, manifest, whole).ok());
  std::vector<float> pieces(whole.size());
  size_t taken = 0;
  const Status status =
      ReadWeightsByTensor(storage_, saved.directory, manifest,
                          [&](const runspec::ParameterInfo& tensor, std::span<const float> values) {
                            ASSERT_EQ(std::ssize(values), tensor.count) << tensor.name;
                            std::copy(values.begin(), values.end(), pieces.begin() + tensor.offset);
                            ++taken;
                          });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(taken, layout.tensors.size());
  EXPECT_EQ(pieces, whole);
}

TEST_F(CheckpointReaderTest, WeightsByTensorOfADamagedFileAreRefused) {
  const SavedCheckpoint saved = Save(9);
  const auto manifest = *formats::ReadManifest(LocalStorage(), saved.directory);
  const std::string path = JoinPath(saved.directory, formats::kModelName);
  std::string bytes = *ReadFile(path);
  bytes.back() ^= 1;
  ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
  const Status status =
      ReadWeightsByTensor(storage_, saved.directory, manifest, [](const auto&, auto) {});
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
}

TEST_F(CheckpointReaderTest, TheNewestCompleteCheckpointIsFound) {
  EXPECT_EQ(*formats::FindNewestCheckpoint(LocalStorage(), Parent()), std::nullopt);
  Save(9);
  const std::string newest = Save(10).directory;
  ASSERT_TRUE(MakeDirectories(JoinPath(Parent(), "step-00000011-e9-partial")).ok());
  EXPECT_EQ(*formats::FindNewestCheckpoint(LocalStorage(), Parent()), newest);
}

TEST_F(CheckpointReaderTest, ADamagedManifestIsNoReasonToGoBackSilently) {
  Save(9);
  const std::string newest = Save(10).directory;
  ASSERT_TRUE(WriteFileAtomically(JoinPath(newest, "manifest.json"), "{").ok());
  const auto found = formats::FindNewestCheckpoint(LocalStorage(), Parent());
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(Message(found.status()), HasSubstr(newest));
}

}  // namespace
}  // namespace gp::engine
