#include "worker/sampler/checkpoint_sampler.h"

#include <gtest/gtest.h>

#include <map>

#include "base/file.h"
#include "base/random_id.h"
#include "tokenizer/byte_tokenizer.h"
#include "worker/engine/fakes/random_checkpoint.h"
#include "worker/sampler/streaming_detokenizer.h"

namespace gp::engine {
namespace {

// A run's directory with one checkpoint of a random model of bytes.
class CheckpointSamplerTest : public testing::Test {
 protected:
  CheckpointSamplerTest() : checkpoint_(WriteCheckpoint(5, {})) {}
  ~CheckpointSamplerTest() override { EXPECT_TRUE(RemoveTree(run_).ok()); }

  std::string WriteCheckpoint(int64_t step, const formats::TrainingRecord& record) {
    return WriteRandomCheckpoint(JoinPath(run_, "checkpoints"), step, record);
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

// The text from full passes of the saved model over the whole window, as a sampler without a cache
// would generate it.
std::string TextOfFullPasses(const SampleRequest& request, runspec::Precision precision) {
  const auto model = MakeRandomModel(precision);
  std::vector<int32_t> tokens = {'T', 'h', 'e', ' '};
  std::vector<float> logits(256);
  for (uint64_t i = 0; i < static_cast<uint64_t>(request.max_tokens); ++i) {
    const std::span<const int32_t> seen =
        std::span<const int32_t>(tokens).last(std::min<size_t>(tokens.size(), 8));
    model->NextTokenLogits({seen, {}, 1, std::ssize(seen)}, logits);
    tokens.push_back(SampleToken(logits, request.sampling, KeyedUniform(request.seed, 0, i)));
  }
  const ByteTokenizer tokenizer;
  StreamingDetokenizer stream(tokenizer, {});
  std::string text;
  for (const int32_t token : tokens) text += stream.Add(token).text;
  return text + stream.Finish().text;
}

TEST_F(CheckpointSamplerTest, TheSameRequestGivesTheSameTextThatBeginsWithThePrompt) {
  const std::string text = Sample(checkpoint_, kRequest);
  EXPECT_EQ(text.substr(0, 4), "The ");
  EXPECT_GT(text.size(), 4u);
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
  request.max_tokens = 500;  // long enough for the two texts to differ
  const std::string fp32 = TextOfFullPasses(request, Precision::kFp32);
  const std::string bf16 = TextOfFullPasses(request, Precision::kBf16);
  ASSERT_NE(fp32, bf16);
  for (const bool of_bf16 : {false, true}) {
    const std::string directory =
        WriteCheckpoint(of_bf16 ? 7 : 6, {.precision = of_bf16 ? "bf16" : "fp32"});
    EXPECT_EQ(CheckpointSampler::Open(directory)->model().precision(),
              of_bf16 ? Precision::kBf16 : Precision::kFp32);
    EXPECT_EQ(Sample(directory, request), of_bf16 ? bf16 : fp32);
    EXPECT_EQ(Sample(directory, request, {.precision = Precision::kFp32}), fp32);
    EXPECT_EQ(Sample(directory, request, {.precision = Precision::kBf16}), bf16);
  }
}

TEST_F(CheckpointSamplerTest, ARunWhosePrecisionIsNotKnownIsSampledInFp32) {
  EXPECT_EQ(CheckpointSampler::Open(checkpoint_)->model().precision(), runspec::Precision::kFp32);
  const std::string directory = WriteCheckpoint(6, {.precision = "fp4"});
  const Status status = CheckpointSampler::Open(directory).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status;
  EXPECT_NE(Message(status).find("'fp4'"), std::string::npos) << status;
  EXPECT_TRUE(CheckpointSampler::Open(directory, {.precision = runspec::Precision::kFp32}).ok());
}

TEST_F(CheckpointSamplerTest, ARunsDirectoryStandsForItsNewestCheckpoint) {
  EXPECT_EQ(Sample(run_, kRequest), Sample(checkpoint_, kRequest));
  EXPECT_EQ(CheckpointSampler::Open(run_)->model().manifest().step, 5);
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

TEST_F(CheckpointSamplerTest, ATextEndsBeforeAStopString) {
  const std::string whole = Sample(checkpoint_, kRequest);
  SampleRequest request = kRequest;
  request.stop = {whole.substr(whole.find_last_of("abcdefghijklmnopqrstuvwxyz"), 1)};
  ASSERT_EQ(request.stop[0].size(), 1u);
  const size_t end = whole.find(request.stop[0], kRequest.prompt.size());
  EXPECT_EQ(Sample(checkpoint_, request), whole.substr(0, end));
}

TEST_F(CheckpointSamplerTest, TheMemoryLimitsHowManyTextsAreWrittenAtATime) {
  const auto wide = CheckpointSampler::Open(checkpoint_, {.slots = 1000});
  ASSERT_TRUE(wide.ok()) << wide.status();
  const uint64_t bytes = wide->model().memory_bytes();
  auto narrow = CheckpointSampler::Open(checkpoint_, {.slots = 1000, .memory_bytes = bytes / 2});
  ASSERT_TRUE(narrow.ok()) << narrow.status();
  EXPECT_LE(narrow->model().memory_bytes(), bytes / 2);
  const auto none = CheckpointSampler::Open(checkpoint_, {.memory_bytes = 1000});
  EXPECT_EQ(none.status().code(), StatusCode::kResourceExhausted) << none.status();
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
