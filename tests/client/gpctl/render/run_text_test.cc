// Goal: the details of a run say what a user would ask for next: labels, notes, and which
// checkpoint is the best one.
#include "client/gpctl/render/run_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "client/fake_run_service.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Details(const v1::Run& run, int width = 0) {
  return gpctl::RunDetails(run, {}, 0, {.width = width});
}

TEST(RunDetails, SayWhichStepWasBestIfNoCheckpointOfItExists) {
  v1::Run run = MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED);
  run.set_latest_checkpoint_step(300);
  run.set_best_checkpoint_step(300);
  run.mutable_progress()->set_best_validation_loss(1.25);
  run.mutable_progress()->set_best_validation_step(250);
  EXPECT_THAT(Details(run),
              HasSubstr("step 300, best at step 300; step 250 had the lowest validation "
                        "loss, 1.2500; no checkpoint of it exists "
                        "(checkpoint.on_best: true saves each improvement)\n"));
  run.mutable_progress()->set_best_validation_checkpoint("/runs/a/checkpoints/c");
  EXPECT_THAT(Details(run), HasSubstr("checkpoint  step 300, best at step 300\n"));
  run.mutable_progress()->set_best_validation_superseded(true);
  EXPECT_THAT(Details(run),
              HasSubstr("step 250 of an earlier leg had the lowest validation loss, 1.2500; its "
                        "checkpoint is /runs/a/checkpoints/c\n"));
  run.mutable_progress()->clear_best_validation_loss();
  EXPECT_THAT(Details(run), Not(HasSubstr("lowest")));
}

TEST(RunDetails, SayHowLongThreadsWaitedForACore) {
  v1::Run run = MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING);
  EXPECT_THAT(Details(run), Not(HasSubstr("  cores")));
  run.mutable_progress()->set_processor_wait(0.002);
  EXPECT_THAT(Details(run), Not(HasSubstr("  cores"))) << "nothing to look at";
  run.mutable_progress()->set_processor_wait(0.125);
  EXPECT_THAT(
      Details(run),
      HasSubstr("  cores       its threads waited 12.5% of the time for a processor core\n"));
}

TEST(RunDetails, BreakBetweenWordsOnANarrowTerminal) {
  v1::Run run = MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_FAILED);
  run.set_reason("rank 0 on a: " + std::string(90, 'x') + " and then some words that go on");
  run.set_note(
      "a note of many words that does not fit into one line of a terminal with 40 columns");
  std::istringstream lines(Details(run, 40));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_FALSE(line.ends_with(' ')) << line;
    const bool is_path = line.find("directory") != std::string::npos;
    EXPECT_TRUE(is_path || line.size() <= 40) << line;
  }
  EXPECT_THAT(Details(run, 40), HasSubstr("  note        a note of many words that\n"
                                          "              does not fit into one line\n"));
}

}  // namespace
}  // namespace gp::testing
