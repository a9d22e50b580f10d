// Goal: a run records what it computes with, even if it cannot reproduce its earlier record.
#include "worker/trainer/engine_choice.h"

#include <gtest/gtest.h>

#include <string>

#include "worker/engine/step/training_error.h"

namespace gp::engine {
namespace {

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
