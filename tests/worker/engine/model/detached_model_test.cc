// Goal: the model works with memory that the host cannot access, with and without recording, and
// computes the same bits as in host memory. (A stray access by the host ends this test.)
#include <gtest/gtest.h>

#include "worker/engine/fakes/detached_backend.h"
#include "worker/engine/model/all_pairs.h"
#include "worker/engine/model/gpt2.h"
#include "worker/engine/model/gpt2_decoder.h"
#include "worker/engine/model/switch_case.h"

namespace gp::engine {
namespace {

ModelOptions OnDevice(ModelOptions options, bool graph) {
  options.device = {.on = true, .graph = graph};
  return options;
}

template <typename T>
std::vector<T> Downloaded(Backend& backend, std::span<const T> values) {
  std::vector<T> copy(values.size());
  backend.Download(copy.data(), values.data(), static_cast<int64_t>(values.size_bytes()));
  return copy;
}

// The number of trained elements, including the gaps after their tensors.
int64_t TrainedElements(const runspec::ParameterLayout& layout) {
  int64_t elements = 0;
  for (size_t i = 0; i < layout.tensors.size(); ++i) {
    const bool is_last = i + 1 == layout.tensors.size();
    const int64_t end = is_last ? layout.total_count : layout.tensors[i + 1].offset;
    if (layout.tensors[i].trained) elements += end - layout.tensors[i].offset;
  }
  return elements;
}

struct Result {
  std::vector<float> parameters;
  double loss = 0;
  std::vector<float> gradients;
  double evaluated = 0;
  std::vector<float> logits;
  int64_t replays = 0;

  bool SameBits(const Result& other) const {
    return parameters == other.parameters && loss == other.loss && gradients == other.gradients &&
           evaluated == other.evaluated && logits == other.logits;
  }
};

// Runs three micro-batches twice, so that every pass is replayed. The gradient of the last one is
// announced piece by piece as it becomes final.
Result Compute(const ModelOptions& options, Dropout dropout) {
  Result result;
  const auto model = MakeLanguageModel(options);
  Backend& backend = model->backend();
  InitializeNormal(5, *model);
  result.parameters = Downloaded(backend, std::span<const float>(model->parameters()));
  const auto count = static_cast<size_t>(model->layout().total_count);
  const std::span<float> gradients(
      static_cast<float*>(backend.Allocate(static_cast<int64_t>(count * sizeof(float)))), count);
  auto* loss = static_cast<double*>(backend.Allocate(sizeof(double)));
  for (unsigned pass = 0; pass < 6; ++pass) {
    const Batch batch(options.shape, options.micro_batch, options.sequence, pass);
    const bool accumulate = pass % 3 > 0;
    dropout.micro_batch = pass;
    model->ExpectBackward(0.5f, gradients, accumulate);
    model->ForwardInto(batch.view(), dropout, loss);
    int64_t told = 0;
    const GradientReady ready = [&](int64_t first, int64_t last) { told += last - first; };
    model->Backward(0.5f, gradients, accumulate, pass % 3 == 2 ? ready : GradientReady{});
    EXPECT_EQ(told, pass % 3 == 2 ? TrainedElements(model->layout()) : 0);
  }
  backend.Download(&result.loss, loss, sizeof(double));
  result.gradients = Downloaded(backend, std::span<const float>(gradients));
  const Batch batch(options.shape, options.micro_batch, options.sequence, 9);
  for (int i = 0; i < 2; ++i) result.evaluated += model->Loss(batch.view());
  const Batch part(options.shape, 1, 3, 9);
  result.evaluated += model->Loss(part.view());
  result.logits.resize(static_cast<size_t>(options.shape.vocabulary));
  model->NextTokenLogits(part.view(), result.logits);
  if (auto* detached = dynamic_cast<DetachedBackend*>(&backend)) {
    result.replays = detached->replays();
  }
  return result;
}

TEST(DetachedModel, InAllPairsOfSwitchesComputesTheBitsOfTheHost) {
  std::vector<int> settings;
  for (const Switch& each : Switches()) settings.push_back(each.settings);
  for (const SwitchCase& pick : AllPairs(settings).Cases()) {
    ModelOptions options{.shape = OddShape(), .micro_batch = 3, .sequence = 17};
    Dropout dropout{.seed = 4, .step = 6, .shard = 1};
    for (size_t i = 0; i < pick.size(); ++i) Switches()[i].apply(pick[i], options, dropout);
    options.threads = 1;
    const Result expected = Compute(options, dropout);
    const Result eager = Compute(OnDevice(options, false), dropout);
    const Result recorded = Compute(OnDevice(options, true), dropout);
    EXPECT_TRUE(eager.SameBits(expected)) << Description(pick);
    EXPECT_TRUE(recorded.SameBits(expected)) << Description(pick);
    EXPECT_EQ(eager.replays, 0);
    EXPECT_GT(recorded.replays, 3) << Description(pick);
  }
}

TEST(DetachedModel, BeginsWithTheSameTorchValues) {
  const ModelOptions options{.shape = OddShape(), .micro_batch = 1, .sequence = 5};
  const auto host = MakeLanguageModel(options);
  const auto device = MakeLanguageModel(OnDevice(options, true));
  InitializeTorch(3, *host);
  InitializeTorch(3, *device);
  EXPECT_EQ(Downloaded(device->backend(), std::span<const float>(device->parameters())),
            std::vector<float>(host->parameters().begin(), host->parameters().end()));
}

std::vector<float> DecodedLogits(const ModelOptions& options) {
  const auto model = MakeLanguageModel(options);
  InitializeNormal(5, *model);
  const std::span<uint16_t> copy = model->working_copy();
  Gpt2Decoder decoder(
      {.shape = options.shape, .slots = 2, .length = 9},
      {model->parameters().data(), copy.empty() ? nullptr : copy.data(), model->compute_type()},
      model->backend());
  const std::vector<int32_t> prompt = {1, 4, 7, 2};
  std::vector<float> logits(static_cast<size_t>(2 * options.shape.vocabulary));
  const std::vector<SlotTokens> prompts = {{0, prompt}, {1, std::span(prompt).first(2)}};
  decoder.Append(prompts, logits);
  const std::vector<SlotTokens> next = {{0, std::span(prompt).first(1)}, {1, prompt}};
  decoder.Append(next, logits);
  return logits;
}

TEST(DetachedModel, DecodesTheSameLogits) {
  ModelOptions options{.shape = OddShape(), .micro_batch = 1, .sequence = 9};
  for (const auto precision : {runspec::Precision::kFp32, runspec::Precision::kBf16}) {
    options.precision = precision;
    EXPECT_EQ(DecodedLogits(OnDevice(options, true)), DecodedLogits(options));
  }
}

TEST(MakeLanguageModel, RefusesOnACpuWhatOnlyGpusHave) {
  ModelOptions options{.shape = OddShape(), .micro_batch = 1, .sequence = 5};
  using runspec::Precision;
  for (const auto precision : {Precision::kTf32, Precision::kFp16, Precision::kFp8}) {
    options.precision = precision;
    EXPECT_THROW(MakeLanguageModel(options), std::invalid_argument);
  }
  options.precision = Precision::kFp32;
  options.attention = runspec::Attention::kCudnn;
  EXPECT_THROW(MakeLanguageModel(options), std::invalid_argument);
}

}  // namespace
}  // namespace gp::engine
