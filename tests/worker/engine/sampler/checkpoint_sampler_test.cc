#include "worker/engine/sampler/checkpoint_sampler.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "base/file.h"
#include "base/random_id.h"
#include "tokenizer/byte_tokenizer.h"
#include "worker/engine/checkpoint/checkpoint_writer.h"
#include "worker/engine/checkpoint/local_storage.h"
#include "worker/engine/model/make_language_model.h"

namespace gp::engine {
namespace {

const runspec::ModelShape kShape = {
    .layers = 1, .heads = 2, .channels = 16, .context = 8, .vocabulary = 256};

using Record = std::map<std::string, std::string>;

// Weights that are large enough for bf16 to make another text than fp32.
std::unique_ptr<LanguageModel> MakeModel(runspec::Precision precision = runspec::Precision::kFp32) {
  auto model =
      MakeLanguageModel({.shape = kShape, .precision = precision, .micro_batch = 1, .sequence = 8});
  InitializeNormal(7, *model);
  for (float& value : model->parameters()) value *= 8;
  const auto copy = model->working_copy();
  if (!copy.empty()) {
    model->backend().Round(std::ssize(copy), copy.data(), model->parameters().data(), {});
  }
  return model;
}

// A run's directory with one checkpoint of a fresh model over bytes.
class CheckpointSamplerTest : public testing::Test {
 protected:
  CheckpointSamplerTest() : checkpoint_(WriteCheckpoint(5, {})) {}
  ~CheckpointSamplerTest() override { EXPECT_TRUE(RemoveTree(run_).ok()); }

  std::string WriteCheckpoint(int64_t step, const Record& record) {
    const ByteTokenizer tokenizer;
    const auto model = MakeModel();
    const std::vector<float> zeros(model->parameters().size());
    CheckpointWriter writer(std::make_shared<LocalStorage>(), JoinPath(run_, "checkpoints"),
                            {.run_id = "run",
                             .run_name = "run",
                             .incarnation = "i",
                             .shape = kShape,
                             .data_fingerprint = "data",
                             .tokenizer = tokenizer.Serialized(),
                             .tokenizer_fingerprint = tokenizer.Fingerprint()},
                            {});
    const Status started = writer.Start({.step = step,
                                         .record = record,
                                         .parameters = model->parameters(),
                                         .first_moment = zeros,
                                         .second_moment = zeros});
    EXPECT_TRUE(started.ok()) << started;
    const auto saved = writer.Wait(std::chrono::minutes(1));
    EXPECT_TRUE(saved.ok()) << saved.status();
    return saved.ok() ? saved->directory : "";
  }

  std::string Sample(const std::string& directory, const SampleRequest& request,
                     const SamplerOptions& options = {}) {
    auto sampler = CheckpointSampler::Open(directory, options);
    EXPECT_TRUE(sampler.ok()) << sampler.status();
    if (!sampler.ok()) return "";
    const auto texts = sampler->Sample({&request, 1});
    EXPECT_TRUE(texts.ok()) << texts.status();
    return texts.ok() ? texts->at(0) : "";
  }

  const std::string run_ = testing::TempDir() + "gp-sampler-" + RandomId(8);
  const std::string checkpoint_;
};

const SampleRequest kRequest = {.prompt = "The ", .max_tokens = 30, .seed = 3};

// By full passes over the window with the model that was saved, as a sampler without a cache would.
std::string TextOfFullPasses(const SampleRequest& request, runspec::Precision precision) {
  const auto model = MakeModel(precision);
  std::vector<int32_t> tokens = {'T', 'h', 'e', ' '};
  std::vector<float> logits(256);
  for (uint64_t i = 0; i < static_cast<uint64_t>(request.max_tokens); ++i) {
    const std::span<const int32_t> seen =
        std::span<const int32_t>(tokens).last(std::min<size_t>(tokens.size(), 8));
    model->NextTokenLogits({seen, {}, 1, std::ssize(seen)}, logits);
    tokens.push_back(SampleToken(logits, request.sampling, KeyedUniform(request.seed, 0, i)));
  }
  return {tokens.begin(), tokens.end()};
}

TEST_F(CheckpointSamplerTest, TheSameRequestGivesTheSameTextThatBeginsWithThePrompt) {
  const std::string text = Sample(checkpoint_, kRequest);
  EXPECT_EQ(text.substr(0, 4), "The ");
  EXPECT_EQ(text.size(), 34u);
  EXPECT_EQ(Sample(checkpoint_, kRequest), text);
  SampleRequest other = kRequest;
  other.seed = 4;
  EXPECT_NE(Sample(checkpoint_, other), text);
}

TEST_F(CheckpointSamplerTest, ManyRequestsAtATimeGiveTheTextsOfEachAlone) {
  std::vector<SampleRequest> requests(5, kRequest);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].sample = i;
    requests[i].max_tokens = static_cast<int64_t>(7 * i);
  }
  auto sampler = CheckpointSampler::Open(checkpoint_, {.threads = 2, .slots = 3});
  ASSERT_TRUE(sampler.ok()) << sampler.status();
  const auto texts = sampler->Sample(requests);
  ASSERT_TRUE(texts.ok()) << texts.status();
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ((*texts)[i], Sample(checkpoint_, requests[i])) << i;
  }
}

TEST_F(CheckpointSamplerTest, TheTextIsThatOfFullPassesOverTheWindow) {
  EXPECT_EQ(Sample(checkpoint_, kRequest), TextOfFullPasses(kRequest, runspec::Precision::kFp32));
}

TEST_F(CheckpointSamplerTest, ItComputesAsTheRunDidUnlessToldOtherwise) {
  using runspec::Precision;
  SampleRequest request = kRequest;
  request.max_tokens = 500;  // long enough for the two to part
  const std::string fp32 = TextOfFullPasses(request, Precision::kFp32);
  const std::string bf16 = TextOfFullPasses(request, Precision::kBf16);
  ASSERT_NE(fp32, bf16);
  for (const bool of_bf16 : {false, true}) {
    const std::string directory =
        WriteCheckpoint(of_bf16 ? 7 : 6, {{"precision", of_bf16 ? "bf16" : "fp32"}});
    EXPECT_EQ(CheckpointSampler::Open(directory)->precision(),
              of_bf16 ? Precision::kBf16 : Precision::kFp32);
    EXPECT_EQ(Sample(directory, request), of_bf16 ? bf16 : fp32);
    EXPECT_EQ(Sample(directory, request, {.precision = Precision::kFp32}), fp32);
    EXPECT_EQ(Sample(directory, request, {.precision = Precision::kBf16}), bf16);
  }
}

TEST_F(CheckpointSamplerTest, ARunWhosePrecisionIsNotKnownIsSampledInFp32) {
  EXPECT_EQ(CheckpointSampler::Open(checkpoint_)->precision(), runspec::Precision::kFp32);
  const std::string directory = WriteCheckpoint(6, {{"precision", "fp4"}});
  const Status status = CheckpointSampler::Open(directory).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status;
  EXPECT_NE(Message(status).find("'fp4'"), std::string::npos) << status;
  EXPECT_TRUE(CheckpointSampler::Open(directory, {.precision = runspec::Precision::kFp32}).ok());
}

TEST_F(CheckpointSamplerTest, ARunsDirectoryStandsForItsNewestCheckpoint) {
  EXPECT_EQ(Sample(run_, kRequest), Sample(checkpoint_, kRequest));
  EXPECT_EQ(CheckpointSampler::Open(run_)->manifest().step, 5);
}

TEST_F(CheckpointSamplerTest, ADirectoryWithoutACheckpointIsNotFound) {
  for (const std::string& directory : {run_ + "-absent", JoinPath(run_, "checkpoints/none")}) {
    const auto sampler = CheckpointSampler::Open(directory);
    EXPECT_EQ(sampler.status().code(), StatusCode::kNotFound) << sampler.status();
  }
}

TEST_F(CheckpointSamplerTest, DamagedFilesAreNamed) {
  for (const std::string name : {"model.safetensors", "tokenizer.json"}) {
    const std::string path = JoinPath(checkpoint_, name);
    const std::string intact = ReadFile(path).value();
    std::string damaged = intact;
    damaged[damaged.size() / 2] ^= 1;
    ASSERT_TRUE(WriteFileAtomically(path, damaged).ok());
    const auto sampler = CheckpointSampler::Open(checkpoint_);
    EXPECT_EQ(sampler.status().code(), StatusCode::kDataLoss) << name;
    EXPECT_NE(Message(sampler.status()).find(name), std::string::npos) << sampler.status();
    ASSERT_TRUE(WriteFileAtomically(path, intact).ok());
  }
}

TEST_F(CheckpointSamplerTest, AnEmptyPromptIsRefused) {
  SampleRequest request = kRequest;
  request.prompt = "";
  auto sampler = CheckpointSampler::Open(checkpoint_);
  ASSERT_TRUE(sampler.ok()) << sampler.status();
  EXPECT_EQ(sampler->Sample({&request, 1}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gp::engine
