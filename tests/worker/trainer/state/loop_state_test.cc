#include "worker/trainer/state/loop_state.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

namespace gp::engine {
namespace {

LoopState FullState() {
  LoopState state{.step = 41, .consecutive_skips = 2, .evaluation_owed = true};
  state.record.optimizer = "adamw";
  state.record.updates = 39;
  state.record.micro_batch = 4;
  state.record.best_loss = 2.0 / 3;
  state.observed_step = 40;
  state.calibrated_step = 41;
  state.newest = CommittedStep{.result = {.step = 41,
                                          .loss = 0.1,
                                          .gradient_norm = std::numeric_limits<double>::quiet_NaN(),
                                          .learning_rate = 1e-3,
                                          .skipped = true,
                                          .overflowed = true,
                                          .last = true,
                                          .save = true,
                                          .seconds = 0.25},
                               .evaluated = Evaluated{.loss = 1.0 / 3, .scores = {{"acc", 0.7}}},
                               .reported = true,
                               .concluded = true};
  return state;
}

TEST(LoopState, ComesBackBitForBit) {
  const LoopState state = FullState();
  const auto read = ParseLoopState(FormatLoopState(state));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->step, state.step);
  EXPECT_EQ(read->record, state.record);
  EXPECT_EQ(read->consecutive_skips, 2);
  EXPECT_TRUE(read->evaluation_owed);
  EXPECT_EQ(read->observed_step, 40);
  EXPECT_EQ(read->calibrated_step, 41);
  ASSERT_TRUE(read->newest && read->newest->evaluated);
  const StepResult& result = read->newest->result;
  EXPECT_EQ(result.step, 41);
  EXPECT_EQ(result.loss, 0.1);
  EXPECT_EQ(std::bit_cast<uint64_t>(result.gradient_norm),
            std::bit_cast<uint64_t>(state.newest->result.gradient_norm));
  EXPECT_EQ(result.learning_rate, 1e-3);
  EXPECT_TRUE(result.skipped && result.overflowed && result.last && result.save);
  EXPECT_EQ(result.seconds, 0.25);
  EXPECT_EQ(read->newest->evaluated->loss, 1.0 / 3);
  EXPECT_EQ(read->newest->evaluated->scores, state.newest->evaluated->scores);
  EXPECT_TRUE(read->newest->reported && read->newest->concluded);
}

TEST(LoopState, WhatIsAbsentStaysAbsent) {
  const auto read = ParseLoopState(FormatLoopState({.step = 3}));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->newest.has_value());
  LoopState unfinished = FullState();
  unfinished.newest->evaluated.reset();
  unfinished.newest->reported = unfinished.newest->concluded = false;
  const auto other = ParseLoopState(FormatLoopState(unfinished));
  ASSERT_TRUE(other.ok() && other->newest);
  EXPECT_FALSE(other->newest->evaluated || other->newest->reported || other->newest->concluded);
}

TEST(LoopState, ATextThatIsCutAnywhereIsRefused) {
  const std::string text = FormatLoopState(FullState());
  for (size_t size = 0; size < text.size(); ++size) {
    const auto read = ParseLoopState(text.substr(0, size));
    ASSERT_EQ(read.status().code(), StatusCode::kDataLoss) << size;
  }
  EXPECT_EQ(ParseLoopState("{}").status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace gp::engine
