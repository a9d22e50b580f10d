// Goal: the model on the CUDA backend gives the same results as on the CPU backend and as the fp64
// reference, for every pair of its switches and in every precision; graphs change no bit; memory
// use is as planned.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plan/arena_plan.h"
#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/device_backend.h"
#include "worker/engine/model/all_pairs.h"
#include "worker/engine/model/gpt2_decoder.h"
#include "worker/engine/model/switch_case.h"

namespace gp::engine {
namespace {

using runspec::Attention;
using runspec::EngineKind;
using runspec::Precision;
using runspec::Recompute;

// The same weights as those of FillParameters, in host memory.
std::vector<float> HostParameters(const runspec::ParameterLayout& layout, float deviation) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> parameters(static_cast<size_t>(layout.total_count));
  for (const runspec::ParameterInfo& tensor : layout.tensors) {
    const bool gain = !tensor.decayed && tensor.name.ends_with(".weight");
    for (int64_t i = 0; i < tensor.count; ++i) {
      parameters[static_cast<size_t>(tensor.offset + i)] = normal(random) + (gain ? 1.0f : 0.0f);
    }
  }
  return parameters;
}

// A model on the device, accessed only through its backend.
class DeviceModel {
 public:
  explicit DeviceModel(ModelOptions options, float deviation = 0.2f)
      : options_(std::move(options)) {
    options_.device.on = true;
    model_ = MakeLanguageModel(options_);
    parameters_ = HostParameters(model_->layout(), deviation);
    backend().Upload(model_->parameters().data(), parameters_.data(), Bytes());
    model_->ParametersChanged();
    auto* memory = static_cast<float*>(backend().Allocate(Bytes()));
    gradients_ = {memory, parameters_.size()};
    const std::vector<float> garbage(parameters_.size(), kUntouched);
    backend().Upload(memory, garbage.data(), Bytes());
  }

  Backend& backend() { return model_->backend(); }
  LanguageModel& model() { return *model_; }
  const std::vector<float>& parameters() const { return parameters_; }

  double Forward(const Batch& batch, const Dropout& dropout) {
    return model_->Forward(batch.view(), dropout);
  }
  void Backward(float scale, bool accumulate) {
    model_->Backward(scale, gradients_, accumulate, {});
  }
  void Expect(float scale, bool accumulate) {
    model_->ExpectBackward(scale, gradients_, accumulate);
  }
  std::vector<float> Gradients() {
    std::vector<float> gradients(parameters_.size());
    backend().Download(gradients.data(), gradients_.data(), Bytes());
    return gradients;
  }

 private:
  int64_t Bytes() const { return static_cast<int64_t>(parameters_.size() * sizeof(float)); }

  ModelOptions options_;
  std::unique_ptr<LanguageModel> model_;
  std::vector<float> parameters_;
  std::span<float> gradients_;
};

using Gpt2OnCuda = DeviceTest;

// The equivalent of ExpectMatchesReference on the device.
void ExpectOnDevice(const ModelOptions& options, const Dropout& dropout, double tolerance) {
  const bool is_fp32 = options.precision == Precision::kFp32;
  DeviceModel device(options, is_fp32 ? 0.2f : 0.1f);
  const Batch batch(options.shape, options.micro_batch, options.sequence);
  const ReferenceResult expected =
      ComputeReference(options.shape, Widened(device.parameters()), batch.view(), dropout);
  EXPECT_NEAR(device.Forward(batch, dropout) / expected.loss, 1, tolerance);
  device.Backward(1, false);
  ExpectGradients(device.model().layout(), device.Gradients(), expected.gradients, tolerance);
}

double ToleranceOf(const ModelOptions& options) {
  switch (options.precision) {
    case Precision::kFp32:
      return 1e-5;
    case Precision::kTf32:
      return 2e-3;
    case Precision::kFp16:
      return 3e-3;
    case Precision::kFp8:
      return 0.15;  // the fp8 types have 3 and 2 mantissa bits
    default:
      // A bf16 residual stream adds two roundings per block.
      return options.residual == runspec::ResidualType::kBf16 ? 2e-2 : 1e-2;
  }
}

// gpu_check treats a failure of a test with this property differently from a failure of gp's
// kernels: the test depends on assumptions about NVIDIA's libraries that a real device may refute.
constexpr char kAssumes[] = "assumes";
constexpr char kOddSizes[] = "cuBLASLt takes 21 channels and heads of 7";

TEST_F(Gpt2OnCuda, InAllPairsEqualsTheReference) {
  RecordProperty(kAssumes, kOddSizes);
  std::vector<int> settings;
  for (const Switch& each : Switches()) settings.push_back(each.settings);
  for (const SwitchCase& pick : AllPairs(settings).Cases()) {
    SCOPED_TRACE(Description(pick));
    ModelOptions options{.shape = OddShape()};
    Dropout dropout{.seed = 11, .step = 5, .shard = 2, .micro_batch = 1};
    for (size_t i = 0; i < pick.size(); ++i) Switches()[i].apply(pick[i], options, dropout);
    ExpectOnDevice(options, dropout, ToleranceOf(options));
  }
}

// Sizes that are supported by epilogues, tensor cores and fp8.
ModelOptions EvenOptions() {
  ModelOptions options{.shape = OddShape(), .micro_batch = 2, .sequence = 16};
  options.shape.heads = 2;
  options.shape.channels = 32;
  options.shape.vocabulary_padded = 48;
  options.shape.gelu = runspec::Gelu::kTanh;
  return options;
}

const Dropout kDropout{.probability = 0.2, .seed = 4, .step = 6, .shard = 1};

TEST_F(Gpt2OnCuda, EqualsTheReferenceInThePrecisionsOfDevices) {
  for (const Precision precision :
       {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16, Precision::kFp8}) {
    ModelOptions options = EvenOptions();
    options.precision = precision;
    ExpectOnDevice(options, {}, ToleranceOf(options));
    options.shape.gelu = runspec::Gelu::kErf;
    options.shape.bias = false;
    options.recompute = Recompute::kBlock;
    options.attention = Attention::kMath;
    ExpectOnDevice(options, kDropout, ToleranceOf(options));
  }
}

// The workspace must suffice for a batch of a single row.
TEST_F(Gpt2OnCuda, ComputesOneRow) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    ModelOptions options = EvenOptions();
    options.shape.channels = 1024;
    options.shape.heads = 16;
    options.precision = precision;
    options.micro_batch = options.sequence = 1;
    DeviceModel device(options);
    const Batch batch(options.shape, 1, 1);
    device.Forward(batch, {});
    device.Backward(1, false);
    device.Forward(batch, {});
    device.Backward(1, true);
    const std::vector<float> gradients = device.Gradients();
    EXPECT_TRUE(std::ranges::all_of(gradients, [](float g) { return std::isfinite(g); }));
  }
}

TEST_F(Gpt2OnCuda, ComputesInFp16AtOddSizes) {
  RecordProperty(kAssumes, kOddSizes);
  ModelOptions odd{
      .shape = OddShape(), .precision = Precision::kFp16, .micro_batch = 3, .sequence = 17};
  ExpectOnDevice(odd, kDropout, ToleranceOf(odd));
}

// Three steps (run, recorded, replayed) of two micro-batches. Batches and dropout masks differ each
// time, so a record must not contain them.
std::vector<float> ThreeSteps(const ModelOptions& options, std::vector<double>* losses) {
  DeviceModel device(options);
  std::vector<float> gradients;
  for (uint64_t step = 0; step < 3; ++step) {
    for (const bool accumulate : {false, true}) {
      Dropout dropout = kDropout;
      dropout.step = step;
      dropout.micro_batch = accumulate ? 1 : 0;
      const Batch batch(options.shape, options.micro_batch, options.sequence,
                        static_cast<unsigned>(2 * step + (accumulate ? 1 : 0)));
      device.Expect(0.5f, accumulate);
      losses->push_back(device.Forward(batch, dropout));
      device.Backward(0.5f, accumulate);
    }
    const std::vector<float> more = device.Gradients();
    gradients.insert(gradients.end(), more.begin(), more.end());
  }
  return gradients;
}

// Off by default; scripts/gpu_check measures the step both ways.
TEST_F(Gpt2OnCuda, AddsTheResidualInTheLastProductOfABlock) {
  setenv("GP_ADD_IN_PRODUCTS", "1", 1);
  ModelOptions options = EvenOptions();
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    options.precision = precision;
    ExpectOnDevice(options, Dropout{}, ToleranceOf(options));
    ExpectOnDevice(options, kDropout, ToleranceOf(options));
  }
  options.residual = runspec::ResidualType::kBf16;
  ExpectOnDevice(options, Dropout{}, ToleranceOf(options));
  unsetenv("GP_ADD_IN_PRODUCTS");
}

TEST_F(Gpt2OnCuda, GraphsKeepTheBits) {
  for (const int64_t chunk : {0, 14}) {
    ModelOptions options = EvenOptions();
    options.precision = chunk == 0 ? Precision::kFp32 : Precision::kBf16;
    options.attention = chunk == 0 ? Attention::kMath : Attention::kFlash;
    options.chunked_head = chunk;
    std::vector<double> losses, eager_losses;
    options.device.graph = true;
    const std::vector<float> gradients = ThreeSteps(options, &losses);
    options.device.graph = false;
    EXPECT_EQ(ThreeSteps(options, &eager_losses), gradients);
    EXPECT_EQ(losses, eager_losses);
  }
}

TEST_F(Gpt2OnCuda, EqualRunsGiveEqualBits) {
  RecordProperty(kAssumes, kOddSizes);
  ModelOptions options{
      .shape = OddShape(), .precision = Precision::kBf16, .micro_batch = 3, .sequence = 17};
  std::vector<double> losses, losses_again;
  EXPECT_EQ(ThreeSteps(options, &losses), ThreeSteps(options, &losses_again));
  EXPECT_EQ(losses, losses_again);
}

// Masks must be equal: another mask would change the gradient by tens of percent.
TEST_F(Gpt2OnCuda, AgreesWithTheCpuMaskForMask) {
  RecordProperty(kAssumes, kOddSizes);
  ModelOptions options{.shape = OddShape(), .micro_batch = 3, .sequence = 17};
  const Batch batch(options.shape, 3, 17);
  const auto cpu = MakeLanguageModel(options);
  FillParameters(*cpu);
  const double expected_loss = cpu->Forward(batch.view(), kDropout);
  const std::vector<float> expected = Gradients(*cpu, batch.view(), kDropout);
  DeviceModel device(options);
  EXPECT_NEAR(device.Forward(batch, kDropout) / expected_loss, 1, 1e-6);
  device.Backward(1, false);
  const runspec::ParameterInfo all{.name = "all", .count = cpu->layout().total_count};
  EXPECT_LT(RelativeDifference(all, device.Gradients(), expected), 1e-5);
}

TEST_F(Gpt2OnCuda, GivesTheNextTokensLogits) {
  RecordProperty(kAssumes, kOddSizes);
  ModelOptions options{.shape = OddShape(), .micro_batch = 3, .sequence = 17};
  const Batch batch(options.shape, 2, 11);
  const auto cpu = MakeLanguageModel(options);
  FillParameters(*cpu);
  std::vector<float> expected(2 * 31), logits(2 * 31);
  cpu->NextTokenLogits(batch.view(), expected);
  DeviceModel device(options);
  device.model().NextTokenLogits(batch.view(), logits);
  for (size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], expected[i], 1e-4) << i;
  EXPECT_NEAR(device.model().Loss(batch.view()) / cpu->Loss(batch.view()), 1, 1e-6);
}

TEST_F(Gpt2OnCuda, DecodesWhatTheFullPassSays) {
  RecordProperty(kAssumes, kOddSizes);
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    ModelOptions options{.shape = OddShape(), .precision = precision, .micro_batch = 1};
    options.sequence = 11;
    DeviceModel device(options, 0.1f);
    LanguageModel& model = device.model();
    const auto copy = model.working_copy();
    Gpt2Decoder decoder({.shape = options.shape, .slots = 2, .length = 11},
                        {model.parameters().data(), copy.empty() ? nullptr : copy.data()},
                        device.backend());
    const Batch batch(options.shape, 2, 11);
    const std::span<const int32_t> tokens = batch.tokens;
    std::vector<float> logits(2 * 31), expected(31);
    decoder.Append(std::vector<SlotTokens>{{0, tokens.first(7)}, {1, tokens.subspan(11, 5)}},
                   logits);
    decoder.Append(std::vector<SlotTokens>{{1, tokens.subspan(16, 6)}, {0, tokens.subspan(7, 4)}},
                   logits);
    for (const int64_t sequence : {1, 0}) {
      const auto whole = tokens.subspan(static_cast<size_t>(sequence * 11), 11);
      model.NextTokenLogits({whole, {}, 1, 11}, expected);
      for (size_t i = 0; i < 31; ++i) {
        EXPECT_NEAR(logits[static_cast<size_t>(1 - sequence) * 31 + i], expected[i],
                    precision == Precision::kFp32 ? 1e-5 : 2e-2)
            << i << " of sequence " << sequence;
      }
    }
  }
}

TEST_F(Gpt2OnCuda, FetchReadsBesideTheQueueOnAnyThread) {
  DeviceModel device(EvenOptions());
  device.backend().Synchronize();
  std::vector<float> fetched(device.parameters().size());
  std::jthread reader([&] {
    device.backend().Fetch(fetched.data(), device.model().parameters().data(),
                           static_cast<int64_t>(fetched.size() * sizeof(float)));
  });
  reader.join();
  EXPECT_EQ(fetched, device.parameters());
}

TEST_F(Gpt2OnCuda, TakesTheMemoryOfThePlanToTheByte) {
  for (const Precision precision :
       {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16, Precision::kFp8}) {
    for (const Attention attention : {Attention::kFlash, Attention::kMath}) {
      ModelOptions options = EvenOptions();
      options.precision = precision;
      options.attention = attention;
      options.device.on = true;
      EXPECT_EQ(MakeLanguageModel(options)->backend().allocated_bytes(),
                runspec::MakeArenaPlan(options.shape, ArenaOptionsOf(options)).total_bytes);
    }
  }
}

TEST_F(Gpt2OnCuda, SaysWhatItIs) {
  ModelOptions options = EvenOptions();
  DeviceModel device(options);
  EXPECT_EQ(std::string(device.backend().name()).substr(0, 8), "cuda sm_");
  EXPECT_EQ(FindDevice().kernels, device.backend().name());
  EXPECT_FALSE(device.backend().host_reachable());
  EXPECT_GT(FindDevice().free_bytes, 0);
}

// Timing could choose another algorithm each time, so the recorded choice must be used.
TEST_F(Gpt2OnCuda, ComputesWithTheProductsOfTheRecordOnceTheyAreChosen) {
  std::string cache = testing::TempDir() + "gpt2-on-cuda-XXXXXX";
  ASSERT_NE(mkdtemp(cache.data()), nullptr) << cache;
  setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  ModelOptions options = EvenOptions();
  options.precision = Precision::kBf16;
  options.device.on = true;
  DeviceChoices choices;
  MakeLanguageModel(options, &choices);
  EXPECT_EQ(choices.tuning, "");
  options.device.deterministic = false;
  MakeLanguageModel(options, &choices);
  EXPECT_NE(choices.tuning, "");
  options.device.tuning = choices.tuning;
  DeviceChoices again;
  std::vector<double> losses, deterministic_losses;
  MakeLanguageModel(options, &again);
  EXPECT_EQ(again.tuning, choices.tuning);
  const std::vector<float> gradients = ThreeSteps(options, &losses);
  options.device.deterministic = true;
  EXPECT_EQ(ThreeSteps(options, &deterministic_losses), gradients);
  EXPECT_EQ(deterministic_losses, losses);
  unsetenv("XDG_CACHE_HOME");
  std::filesystem::remove_all(cache);
}

TEST_F(Gpt2OnCuda, RefusesProductsChosenOnAnotherCard) {
  ModelOptions options = EvenOptions();
  options.device.on = true;
  options.device.tuning = "Another card|kind=00ff;";
  try {
    MakeLanguageModel(options);
    FAIL() << "choices of another card were taken";
  } catch (const std::invalid_argument& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("chosen for Another card, but this GPU is"), std::string::npos)
        << message;
    EXPECT_NE(message.find("deterministic: true"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace gp::engine
