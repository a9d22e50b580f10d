// Goal: a run records what it computes with, even if it cannot reproduce its earlier record.
#include "worker/trainer/engine_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "worker/engine/backend/cpu/kernels/amx_support.h"
#include "worker/engine/step/training_error.h"

namespace gp::engine {
namespace {

using ::testing::HasSubstr;

std::string Tuned() {
  KernelChoices choices;
  choices.Set({.m = 64, .n = 128, .k = 32}, {.packed = PackedOperand::kFirst, .depth = 32});
  return choices.Encode();
}

TEST(EngineChoice, ARecordIsReproducedAsItWas) {
  const EngineRecord record{.isa = "generic", .kernels = {{"generic", Tuned()}}};
  const EngineRecord again = RecordOf(Reproduce(record, /*deterministic=*/true, 1));
  EXPECT_EQ(again.isa, "generic");
  EXPECT_EQ(again.kernels, record.kernels);
}

TEST(EngineChoice, ChoicesThatCannotBeReadAreNotRecordedAgain) {
  const EngineRecord record{.isa = "generic", .kernels = {{"generic", "no choices at all"}}};
  EXPECT_THROW(Reproduce(record, /*deterministic=*/true, 1), TrainingError);
  const EngineRecord used = RecordOf(Reproduce(record, /*deterministic=*/false, 1));
  EXPECT_EQ(used.isa, "generic");
  EXPECT_TRUE(used.kernels.empty());
}

TEST(EngineChoice, ALevelTakenInsteadOfAMissingOneBringsNoChoices) {
  const std::string here = OfferedLevels().front();
  const EngineRecord record{.isa = "a later one", .kernels = {{here, Tuned()}}};
  EXPECT_THROW(Reproduce(record, /*deterministic=*/true, 1), TrainingError);
  EXPECT_THROW(Reproduce(record, /*deterministic=*/false, 2), TrainingError);
  const EngineChoice engine = Reproduce(record, /*deterministic=*/false, 1);
  EXPECT_TRUE(engine.kernels.empty());
  EXPECT_EQ(RecordOf(engine).isa, here);
  EXPECT_TRUE(RecordOf(engine).kernels.empty());
}

// Sets GP_ISA_MAX for one test.
class IsaMax {
 public:
  explicit IsaMax(const char* level) { setenv("GP_ISA_MAX", level, 1); }
  ~IsaMax() { unsetenv("GP_ISA_MAX"); }
  IsaMax(const IsaMax&) = delete;
  IsaMax& operator=(const IsaMax&) = delete;
};

std::string RefusalOf(const EngineRecord& record, bool deterministic = true) {
  try {
    Reproduce(record, deterministic, /*ranks=*/1);
  } catch (const TrainingError& error) {
    EXPECT_EQ(error.cause(), contract::ExitCause::kUnfit);
    return error.what();
  }
  return "";
}

TEST(EngineChoice, AmxIsNeverTheFirstLevelUnlessItIsAskedFor) {
  if (!IsaSupported(Isa::kAmx)) GTEST_SKIP() << "this processor has no AVX-512";
  EXPECT_EQ(OfferedLevels().front(), IsaName(BestIsa()));
  EXPECT_EQ(OfferedLevels().back(), "amx") << "runs that began with it can go on here";
  const IsaMax twin("amx_twin");
  EXPECT_EQ(OfferedLevels().front(), "amx");
  EXPECT_EQ(OwnEngine(1).isa, "amx");
}

TEST(EngineChoice, AutoAllowsWhatIsAllowedWithoutAWord) {
  const std::vector<std::string> levels = OfferedLevels();
  const IsaMax automatic("auto");
  EXPECT_EQ(OfferedLevels(), levels);
}

TEST(EngineChoice, AmxAskedForIsFirstWhereTileRegistersAreUsable) {
  if (!IsaSupported(Isa::kAmx)) GTEST_SKIP() << "this processor has no AVX-512";
  const IsaMax amx("amx");
  const std::string first = Amx().usable ? "amx" : IsaName(BestIsa());
  EXPECT_EQ(OfferedLevels().front(), first);
  EXPECT_EQ(OfferedLevels().back() == "amx", !Amx().usable);
}

TEST(EngineChoice, ARunOfAmxGoesOnWithAvx512AndSaysSo) {
  if (!IsaSupported(Isa::kAmx)) GTEST_SKIP() << "this processor has no AVX-512";
  const IsaMax avx512("avx512");
  const EngineChoice engine = Reproduce({.isa = "amx"}, /*deterministic=*/true, 2);
  EXPECT_EQ(RecordOf(engine).isa, "amx");
  EXPECT_EQ(engine.tiles, TileUse::kNever);
  EXPECT_EQ(WhyWithoutTiles(engine), "GP_ISA_MAX does not allow tile registers");
  EXPECT_EQ(WhyWithoutTiles(Reproduce({.isa = "avx512"}, true, 1)), "");
}

TEST(EngineChoice, ARunOfAmxIsRefusedWithoutAvx512) {
  const IsaMax avx2("avx2");
  if (OfferedLevels().front() != "avx2") GTEST_SKIP() << "this processor has no AVX2";
  EXPECT_THAT(RefusalOf({.isa = "amx"}), HasSubstr("the run computes with amx kernels, but this "
                                                   "machine has at most avx2"));
}

TEST(EngineChoice, AnUnknownLevelIsNamedWithTheKnownOnes) {
  const IsaMax unknown("amx2");
  try {
    OfferedLevels();
    FAIL();
  } catch (const TrainingError& error) {
    EXPECT_THAT(error.what(), HasSubstr("GP_ISA_MAX: unknown instruction set 'amx2'"));
    EXPECT_THAT(error.what(), HasSubstr("avx512_bf16, amx, amx_twin"));
  }
}

TEST(EngineChoice, ANewerVersionOfTheArithmeticIsAlwaysRefused) {
  const std::string level = OfferedLevels().front();
  for (const bool deterministic : {false, true}) {
    const std::string refusal = RefusalOf({.isa = level + "@2"}, deterministic);
    EXPECT_THAT(refusal, HasSubstr("version 2 of the arithmetic (" + level + "@2)"));
    EXPECT_THAT(refusal, HasSubstr("knows versions up to 1"));
  }
  EXPECT_EQ(RefusalOf({.isa = level}), "") << "without a number it is version 1";
}

// These test programs are linked without a device.
TEST(EngineChoice, WithoutADeviceWhatNeedsOneIsRefusedByName) {
  runspec::RunSpec spec;
  spec.resources.device = "auto";
  spec.engine.zero1 = true;
  try {
    ResolveDevice(spec);
    FAIL() << "it went on, on " << spec.resources.device;
  } catch (const TrainingError& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 32), "engine.zero1: true needs a GPU: ")
        << error.what();
  }
  spec.engine.zero1 = false;
  ResolveDevice(spec);
  EXPECT_EQ(spec.resources.device, "cpu");
}

}  // namespace
}  // namespace gp::engine
