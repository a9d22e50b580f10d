// Goal: tuning covers every product of a step, avoids an epilogue that costs more than it saves,
// and times nothing twice. It never overwrites a product's inputs (the emulation would refuse
// that). Its results are cached in a file, which may be damaged or belong to another device.
#include "worker/engine/backend/cuda/gemm_tuning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>
#include <string>

#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/device_backend.h"
#ifdef GP_CUDA_EMULATION
#include "worker/engine/backend/cuda/emulation/cublas_lt_speed.h"
#include "worker/engine/backend/cuda/emulation/devices.h"
#endif

namespace gp::engine {
namespace {

class GemmTuningTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_NE(mkdtemp(parent_.data()), nullptr) << parent_;
    directory_ = parent_ + "/cache";
    setenv("XDG_CACHE_HOME", directory_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(parent_);
  }

  static CudaBackendOptions Options() {
    CudaBackendOptions options;
    options.shape = {.layers = 1, .heads = 2, .channels = 16, .context = 8};
    options.shape.vocabulary = 29;
    options.shape.vocabulary_padded = 32;
    options.arena = {.micro_batch = 2, .sequence = 8, .bf16 = true, .on_gpu = true};
    return options;
  }

  std::string parent_ = testing::TempDir() + "gemm-tuning-XXXXXX";
  std::string directory_;  // not created yet
};

int64_t CountOf(const GemmChoices& choices) {
  const std::string text = choices.Encode();
  return std::count(text.begin(), text.end(), ';');
}

TEST_F(GemmTuningTest, CoversEveryProductOfAStepOnce) {
  const GemmChoices first = TuneGemms(Options(), GemmChoices("here"));
  EXPECT_EQ(first.device(), "here");
  // Four layers of a block and the head: forward, gradient of the input, and twice gradient of the
  // weight.
  EXPECT_GE(CountOf(first), 5 * 4);
  EXPECT_EQ(TuneGemms(Options(), first), first);
  CudaBackendOptions larger = Options();
  larger.arena.micro_batch = 3;
  larger.shape.vocabulary_padded = 5008;  // larger than the random data
  GemmChoices both = first;
  both.Add(TuneGemms(larger, first));
  EXPECT_GT(CountOf(both), CountOf(first));
  EXPECT_EQ(TuneGemms(Options(), both), first);
}

// A product that adds to the residual stream is another kind, in the stream's type.
TEST_F(GemmTuningTest, CoversTheProductThatAddsToTheResidualStream) {
  CudaBackendOptions adds = Options();
  adds.adds_in_products = true;
  EXPECT_EQ(TuneGemms(Options(), GemmChoices("here")).Encode().find("bias_add"), std::string::npos);
  const GemmChoices choices = TuneGemms(adds, GemmChoices("here"));
  EXPECT_NE(choices.Encode().find("16x16x64_bf16xbf16-fp32_nt_bias_add"), std::string::npos)
      << choices.Encode();
  adds.arena.residual = runspec::ResidualType::kBf16;
  EXPECT_NE(TuneGemms(adds, choices).Encode().find("bf16xbf16-bf16_nt_bias_add"),
            std::string::npos);
}

#ifdef GP_CUDA_EMULATION

// While it lives, every product with this epilogue takes 1000 s longer by the device's clock.
class Slower {
 public:
  explicit Slower(cublasLtEpilogue_t epilogue) {
    cuda_emulation::SlowDown(epilogue, std::chrono::seconds(1000));
  }
  ~Slower() { cuda_emulation::SlowDown(CUBLASLT_EPILOGUE_DEFAULT, {}); }
};

// While it lives, the device has no memory.
class FullDevice {
 public:
  FullDevice() {
    cudaDeviceProp properties = cuda_emulation::DefaultDevice();
    properties.totalGlobalMem = 0;
    cuda_emulation::SetDevices(properties);
  }
  ~FullDevice() { cuda_emulation::SetDevices(cuda_emulation::DefaultDevice()); }
};

// How many choices concern products with this epilogue in their names, and how many of them avoid
// fusing it.
struct Counts {
  int all = 0;
  int passed_over = 0;
};
Counts CountsOf(const GemmChoices& choices, const std::string& epilogue) {
  Counts counts;
  std::stringstream text(choices.Encode());
  for (std::string choice; std::getline(text, choice, ';');) {
    if (choice.find(epilogue + "_") == std::string::npos) continue;
    ++counts.all;
    if (choice.ends_with("=0")) ++counts.passed_over;
  }
  return counts;
}

CudaBackendOptions WithTanhGelu(CudaBackendOptions options) {
  options.shape.gelu = runspec::Gelu::kTanh;
  return options;
}

TEST_F(GemmTuningTest, PassesOverAnEpilogueThatIsSlowerThanAPass) {
  struct {
    cublasLtEpilogue_t epilogue;
    const char* name;
    int kinds;
    bool has_bias = true;
  } const cases[] = {{CUBLASLT_EPILOGUE_BGRADB, "_sums", 2},
                     {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, "_gelu_bias", 1},
                     {CUBLASLT_EPILOGUE_DGELU_BGRAD, "_dgelu-sums", 1},
                     {CUBLASLT_EPILOGUE_DGELU, "_dgelu", 1, false}};
  for (const auto& each : cases) {
    const Slower slower(each.epilogue);
    CudaBackendOptions options = WithTanhGelu(Options());
    options.shape.bias = each.has_bias;
    const Counts counts = CountsOf(TuneGemms(options, GemmChoices("here")), each.name);
    EXPECT_EQ(counts.all, each.kinds) << each.name;
    EXPECT_EQ(counts.passed_over, each.kinds) << each.name;
  }
}

TEST_F(GemmTuningTest, KeepsAnEpilogueThatIsFasterAndWhatWasChosenBefore) {
  const CudaBackendOptions options = WithTanhGelu(Options());
  // Not fused, it would be a product with a bias, which is slow here, and a separate GELU.
  const Slower slower(CUBLASLT_EPILOGUE_BIAS);
  const GemmChoices kept = TuneGemms(options, GemmChoices("here"));
  EXPECT_EQ(CountsOf(kept, "_gelu_bias").all, 1);
  EXPECT_EQ(CountsOf(kept, "_gelu_bias").passed_over, 0);
  const std::string text = kept.Encode();
  const size_t begin = text.find("=", text.find("_gelu_bias"));
  const GemmChoices otherwise =
      GemmChoices::Parse(text.substr(0, begin) + "=0" + text.substr(text.find(";", begin)));
  const GemmChoices again = TuneGemms(options, otherwise);
  EXPECT_EQ(CountsOf(again, "_gelu_bias").passed_over, 1);
  EXPECT_TRUE(again.Covers(otherwise));
}

// If all choices are known, tuning needs neither time nor memory.
TEST_F(GemmTuningTest, TakesNoMemoryWhereNothingIsToBeTimed) {
  const GemmChoices known = TuneGemms(Options(), GemmChoices("here"));
  const FullDevice full;
  EXPECT_EQ(TuneGemms(Options(), known), known);
  EXPECT_THROW(TuneGemms(Options(), GemmChoices("here")), std::bad_alloc);
}

#endif

TEST_F(GemmTuningTest, IsRememberedForTheDeviceItWasDoneOn) {
  GemmChoices choices("A card, driver 13.0, cuBLASLt 13.1.0");
  choices.Set("kind", "00ff");
  EXPECT_TRUE(ReadTunedGemms(choices.device()).empty());
  WriteTunedGemms(choices);
  EXPECT_EQ(ReadTunedGemms(choices.device()), choices);
  const std::string path = TunedGemmsPath(choices.device());
  EXPECT_EQ(path, directory_ + "/gp/gemms/a-card-driver-13-0-cublaslt-13-1-0.txt");
  std::filesystem::rename(path, TunedGemmsPath("Another card"));
  EXPECT_EQ(ReadTunedGemms("Another card"), GemmChoices("Another card"));
}

TEST_F(GemmTuningTest, PassesOverADamagedFileAndReplacesIt) {
  GemmChoices choices("A card");
  choices.Set("kind", "00ff");
  WriteTunedGemms(choices);
  for (const char* text : {"A card|2|kind", "A card|kind=00ff;"}) {  // truncated; in another format
    std::ofstream(TunedGemmsPath("A card")) << text;
    EXPECT_EQ(ReadTunedGemms("A card"), GemmChoices("A card"));
  }
  WriteTunedGemms(choices);
  EXPECT_EQ(ReadTunedGemms("A card"), choices);
}

DeviceBackend Make(bool deterministic) {
  DeviceBackendOptions options{.deterministic = deterministic};
  options.shape = {.layers = 1, .heads = 2, .channels = 16, .context = 8};
  options.shape.vocabulary = options.shape.vocabulary_padded = 32;
  options.arena = {.micro_batch = 2, .sequence = 8, .on_gpu = true};
  return MakeDeviceBackend(options);
}

bool HasNote(const std::vector<std::string>& notes, const std::string& part) {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

TEST_F(GemmTuningTest, SaysWhatItTookAndTakesNothingTheSecondTime) {
  EXPECT_TRUE(HasNote(Make(false).choices.notes, "were chosen by timing in"));
  EXPECT_FALSE(HasNote(Make(false).choices.notes, "were chosen by timing in"));
  EXPECT_FALSE(HasNote(Make(true).choices.notes, "were chosen by timing in"));
}

TEST_F(GemmTuningTest, SaysWhenTheFileCannotBeWritten) {
  std::ofstream(directory_) << "a file where the folder should be";
  EXPECT_THROW(WriteTunedGemms(GemmChoices("A card")), std::runtime_error);
  const std::vector<std::string> notes = Make(/*deterministic=*/false).choices.notes;
  EXPECT_TRUE(HasNote(notes, "cannot be kept")) << notes.size();
  unsetenv("XDG_CACHE_HOME");
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  unsetenv("HOME");
  EXPECT_EQ(TunedGemmsPath("A card"), "");
  EXPECT_THROW(WriteTunedGemms(GemmChoices("A card")), std::runtime_error);
  if (!home.empty()) setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace gp::engine
