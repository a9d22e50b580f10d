#include "client/gpctl/render/why_text.h"

#include <gmock/gmock.h>

#include "client/fake_run_service.h"

namespace gp::gpctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeRun;
using ::testing::Not;

constexpr double kNow = 1'763'716'530;

v1::Node NodeOf(const std::string& name, const std::vector<std::string>& runs_of_slots,
                int cores_per_slot = 2) {
  v1::Node node;
  node.set_node_id("id-" + name);
  node.set_name(name);
  node.set_connected(true);
  for (const std::string& run : runs_of_slots) {
    v1::Slot& slot = *node.add_slots();
    slot.set_slot_id(std::to_string(node.slots_size() - 1));
    slot.set_device("cpu");
    slot.set_run_id(run);
    for (int core = 0; core < cores_per_slot; ++core) slot.add_cores(core);
  }
  return node;
}

// A run of two ranks with two cores each on node a, which is as fast as forecast.
v1::Run Training() {
  v1::Run run = MakeRun("mine", "aaaaaaaa01", v1::RUN_STATE_RUNNING);
  run.set_device("cpu");
  for (int rank = 0; rank < 2; ++rank) run.add_placement()->set_node_id("id-a");
  run.mutable_choices()->set_isa("avx2");
  run.mutable_choices()->set_threads_per_rank(2);
  v1::Progress& progress = *run.mutable_progress();
  progress.set_step_seconds(0.1);
  progress.set_pace_seconds(0.1);
  progress.set_peak_flops(320e9);
  progress.set_mfu(0.5);  // 160 GFLOP/s: four cores at the stated 40
  progress.mutable_phases()->set_forward(0.03);
  progress.mutable_phases()->set_backward(0.07);
  progress.mutable_phases()->set_data_wait(0);
  progress.mutable_phases()->set_allreduce_exposed(0);
  return run;
}

v1::Run Slow() {
  v1::Run run = Training();
  run.mutable_progress()->set_mfu(0.125);
  return run;
}

std::string Why(const v1::Run& run, const Surroundings& around = {}) {
  return WhyText(run, around, kNow, {0, true});
}

TEST(WhyText, ARunAsFastAsForecastSaysSo) {
  EXPECT_THAT(Why(Training()),
              AllOf(HasSubstr("mine is running: as the test wants it\n"),
                    HasSubstr("100 ms a step, as the forecast of 100 ms says (4 cores at 40 "
                              "GFLOP/s, the stated rate of AVX2)"),
                    HasSubstr("forward 30% backward 70%"), Not(HasSubstr("cause"))));
}

TEST(WhyText, ASlowRunIsComparedWithTheForecast) {
  EXPECT_THAT(Why(Slow()),
              AllOf(HasSubstr("100 ms a step, 4.0 times the forecast of 25 ms"),
                    HasSubstr("  cause       neither its nodes nor its phases explain it")));
  v1::Run brief = Slow();
  brief.mutable_progress()->set_step_seconds(0.001);
  brief.mutable_progress()->set_pace_seconds(0.001);
  brief.mutable_progress()->clear_phases();
  EXPECT_THAT(Why(brief), HasSubstr("steps this short are mostly overhead"));
}

TEST(WhyText, ABusyMachineIsNamed) {
  v1::Node node = NodeOf("a", {"aaaaaaaa01", "aaaaaaaa01"});
  node.mutable_load()->set_cores(4);
  node.mutable_load()->set_runnable_threads(4.5);
  EXPECT_THAT(Why(Slow(), {{}, {node}}), Not(HasSubstr("busy")));
  node.mutable_load()->set_runnable_threads(9.5);
  EXPECT_THAT(
      Why(Slow(), {{}, {node}}),
      AllOf(HasSubstr("  machine     node a is overloaded: 9.5 runnable threads for its 4 cores, "
                      "of which runs have 4"),
            Not(HasSubstr("  cause"))));
  node.set_node_id("another");
  EXPECT_THAT(Why(Slow(), {{}, {node}}), Not(HasSubstr("busy"))) << "it does not train there";
}

TEST(WhyText, WaitingForACoreIsNamed) {
  v1::Run run = Slow();
  run.mutable_progress()->set_processor_wait(0.01);
  EXPECT_THAT(Why(run), AllOf(Not(HasSubstr("  cores")), HasSubstr("  cause")));
  run.mutable_progress()->set_processor_wait(0.125);
  EXPECT_THAT(Why(run),
              AllOf(HasSubstr("  cores       the trainer's threads waited 12.5% of the time for a "
                              "processor core: another process uses the cores"),
                    Not(HasSubstr("  cause"))));
}

TEST(WhyText, SwapDataAllReduceAndWhatIsBetweenStepsAreNamed) {
  v1::Node node = NodeOf("a", {"aaaaaaaa01", "aaaaaaaa01"});
  node.mutable_load()->set_swap_bytes_per_second(12 << 20);
  EXPECT_THAT(Why(Slow(), {{}, {node}}), HasSubstr("node a moves 12.0 MiB per second"));
  v1::Run run = Slow();
  run.mutable_progress()->mutable_phases()->set_data_wait(0.045);
  EXPECT_THAT(Why(run), HasSubstr("  data        45.0% of a step waits for data"));
  run = Slow();
  run.mutable_progress()->mutable_phases()->set_allreduce_exposed(0.038);
  EXPECT_THAT(Why(run), HasSubstr("  all-reduce  38.0% of a step waits for other ranks"));
  run = Slow();
  run.mutable_progress()->set_pace_seconds(0.2);
  EXPECT_THAT(Why(run), HasSubstr("  between     50.0% of the time goes into evaluations"));
}

TEST(WhyText, WithoutAKnownRateThereIsNoForecast) {
  v1::Run run = Training();
  run.mutable_choices()->set_isa("cuda sm_90");
  EXPECT_THAT(Why(run), AllOf(HasSubstr("100 ms a step, MFU 50.0%"), Not(HasSubstr("forecast"))));
  run = Training();
  run.mutable_progress()->set_mfu(0);
  EXPECT_FALSE(ForecastStep(run).has_value());
  run.mutable_progress()->set_step_seconds(0);
  EXPECT_THAT(FindingsOn(run, {}, kNow), IsEmpty());
}

TEST(WhyText, AWaitingRunLearnsItsPlaceAndWhoHoldsTheSlotsUntilWhen) {
  v1::Run waits = MakeRun("next", "bbbbbbbb01", v1::RUN_STATE_QUEUED);
  waits.set_queue_position(2);
  waits.set_device("cpu");
  v1::Run late = Training();  // 1,500 steps are left
  v1::Run soon = Training();
  soon.set_run_id("aaaaaaaa02");
  soon.set_name("soon");
  soon.mutable_progress()->set_step(1900);
  v1::Run starts = MakeRun("starts", "aaaaaaaa03", v1::RUN_STATE_STARTING);
  const Surroundings around = {{late, soon, starts},
                               {NodeOf("a", {"aaaaaaaa03", "aaaaaaaa01", "hidden"}),
                                NodeOf("b", {"aaaaaaaa01", ""}), NodeOf("c", {"aaaaaaaa02"})}};
  const std::string text = Why(waits, around);
  EXPECT_THAT(text,
              HasSubstr("  place       2 of all that wait for slots\n"
                        "  held by     soon (aaaaaaaa02): 1 slot on c, for about 10s more "
                        "(until 2025-11-21T09:15:40Z)\n"
                        "  held by     mine (aaaaaaaa01): 2 slots on a, b, for about 2m30s "));
  EXPECT_THAT(text, HasSubstr("starts (aaaaaaaa03): 1 slot on a, end time unknown"));
  EXPECT_THAT(text, HasSubstr("a run that you may not see: 1 slot on a"));
  const Json fields = WhyFields(waits, around, kNow);
  EXPECT_EQ(fields["queue_position"], 2);
  EXPECT_EQ(fields["holders"][0]["name"], "soon");
  EXPECT_DOUBLE_EQ(fields["holders"][0]["seconds_left"], 10);
  EXPECT_EQ(fields["holders"].size(), 4u);
}

TEST(WhyText, ANodeIsListedOnceAlsoWhenItsNameEndsAnothers) {
  const v1::Run waits = MakeRun("next", "bbbbbbbb01", v1::RUN_STATE_QUEUED);
  const std::vector<std::string> both = {"aaaaaaaa01", "aaaaaaaa02", "aaaaaaaa01"};
  const auto holders = HoldersOf(waits, {{}, {NodeOf("gpu-a", both), NodeOf("a", both)}});
  ASSERT_EQ(holders.size(), 2u);
  EXPECT_EQ(holders[0].nodes, "gpu-a, a");
  EXPECT_EQ(holders[0].slots, 4);
  EXPECT_EQ(holders[1].nodes, "gpu-a, a");
}

TEST(WhyText, OnlySlotsOfTheKindThatTheRunWaitsForCount) {
  v1::Node node = NodeOf("a", {"aaaaaaaa01", "aaaaaaaa02"});
  node.mutable_slots(1)->set_device("GPU-1");
  v1::Run waits = MakeRun("next", "bbbbbbbb01", v1::RUN_STATE_QUEUED);
  EXPECT_EQ(HoldersOf(waits, {{}, {node}}).size(), 2u) << "auto: either kind may be";
  waits.set_device("gpu");
  ASSERT_EQ(HoldersOf(waits, {{}, {node}}).size(), 1u);
  EXPECT_EQ(HoldersOf(waits, {{}, {node}})[0].run_id, "aaaaaaaa02");
}

TEST(WhyText, ANodeThatTheRunPassesOverIsNamed) {
  v1::Node node = NodeOf("hole", {""});
  v1::DataProblem& problem = *node.add_data_problems();
  problem.set_run_id("bbbbbbbb01");
  problem.set_reason("data.text: /x does not exist");
  const v1::Run waits = MakeRun("next", "bbbbbbbb01", v1::RUN_STATE_QUEUED);
  EXPECT_THAT(Why(waits, {{}, {node}}),
              HasSubstr("  passed over node hole: data.text: /x does not exist"));
  EXPECT_THAT(Why(MakeRun("other", "bbbbbbbb02", v1::RUN_STATE_QUEUED), {{}, {node}}),
              Not(HasSubstr("passed over")));
}

TEST(WhyText, AnEndedRunHasItsReasonAlone) {
  EXPECT_EQ(Why(MakeRun("old", "aaaaaaaa01", v1::RUN_STATE_FAILED)),
            "old is failed: as the test wants it\n");
}

}  // namespace
}  // namespace gp::gpctl
