// Goal: the texts about a step's phases, its MFU and the duration of a run are right.
#include "client/gpctl/render/run_words.h"

#include <gtest/gtest.h>

#include "client/gpctl/render/step_words.h"

namespace gp::gpctl {
namespace {

TEST(StepWords, EachPhaseHasItsShare) {
  v1::PhaseSeconds phases;
  phases.set_forward(0.1);
  phases.set_backward(0.2);
  phases.set_allreduce_exposed(0.3);
  phases.set_optimizer(0.04);
  phases.set_data_wait(0.05);
  phases.set_other(0.31);
  EXPECT_EQ(PhaseText(phases, 1, 0),
            "forward 10% backward 20% all-reduce 30% optim 4% data 5% other 31%");
  EXPECT_EQ(PhaseText(phases, 0, 0), "");
}

TEST(StepWords, AnMfuNamesWhatItIsAFractionOf) {
  EXPECT_EQ(MfuText(0.31, 4.5e11, "measured"), "MFU 31.0% of 450 GFLOP/s (measured)");
  EXPECT_EQ(MfuText(0.31, 2e12, ""), "MFU 31.0% of 2.00 TFLOP/s");
  EXPECT_EQ(MfuText(0.31, 0, "table"), "MFU 31.0%");
  EXPECT_EQ(MfuText(0, 4.5e11, "table"), "");
}

TEST(RunWords, ARunHasLastedFromItsStartToItsEnd) {
  v1::Run run;
  EXPECT_EQ(ElapsedSeconds(run, 100), 0);
  run.mutable_submitted_at()->set_seconds(10);
  EXPECT_EQ(ElapsedSeconds(run, 100), 90);
  run.mutable_started_at()->set_seconds(30);
  EXPECT_EQ(ElapsedSeconds(run, 100), 70);
  run.mutable_finished_at()->set_seconds(45);
  EXPECT_EQ(ElapsedSeconds(run, 100), 15);
}

}  // namespace
}  // namespace gp::gpctl
