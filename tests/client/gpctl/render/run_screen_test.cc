// Screens and tables against recorded text.
#include "client/gpctl/render/run_screen.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "client/fake_run_service.h"
#include "client/gpctl/golden.h"
#include "client/gpctl/render/run_text.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

using ::testing::AllOf;
using testing::ExpectGolden;
using ::testing::HasSubstr;
using testing::MakeRun;
using ::testing::Not;

constexpr double kNow = 1763716440 + 90;  // a minute and a half after MakeRun's start

v1::MetricPoint Point(int64_t step) {
  v1::MetricPoint point;
  point.set_step(step);
  point.set_loss(4.2 / (1 + 0.01 * static_cast<double>(step)) + 1.5);
  point.set_gradient_norm(0.5 + 0.4 * std::sin(static_cast<double>(step)));
  point.set_learning_rate(9.5e-4);
  point.set_tokens_per_second(15200);
  point.set_step_seconds(0.05);
  point.set_mfu(0.314);
  point.set_peak_flops(461e9);
  point.set_peak_source("measured");
  auto* phases = point.mutable_phases();
  phases->set_forward(0.015);
  phases->set_backward(0.03);
  phases->set_allreduce_exposed(0.0025);
  phases->set_optimizer(0.001);
  phases->set_data_wait(0.0005);
  phases->set_other(0.001);
  return point;
}

RunModel RunningModel() {
  RunModel model;
  v1::Run run = MakeRun("shakespeare", "7f3k2q9a0c", v1::RUN_STATE_RUNNING);
  for (int rank = 0; rank < 2; ++rank) {
    auto* placement = run.add_placement();
    placement->set_rank(rank);
    placement->set_node_name("laptop");
  }
  run.set_failures(1);
  v1::Progress& progress = *run.mutable_progress();
  *progress.mutable_phases() = Point(500).phases();
  progress.set_peak_flops(461e9);
  progress.set_peak_source("measured");
  progress.set_skipped_steps(3);
  progress.set_warning("the first loss 9.1 is far from ln(65) = 4.2");
  run.set_latest_checkpoint_step(400);
  run.set_best_checkpoint_step(400);
  model.Apply(run);
  for (int64_t step = 1; step <= 500; ++step) {
    v1::MetricPoint point = Point(step);
    if (step == 250) point.set_validation_loss(2.1004);
    model.Apply(point);
  }
  v1::RunEvent event;
  event.mutable_at()->set_seconds(1763716447);
  event.set_reason("rank 1 lost its peer; starting again from step 400");
  model.Apply(event);
  return model;
}

void ExpectNoLineWiderThan(int width, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), width) << line;
}

TEST(RunScreen, ShowsALiveRun) {
  ExpectGolden("screen_running_100.txt", RunScreen(RunningModel(), kNow, {100, true}));
  ExpectGolden("screen_running_80_ascii.txt", RunScreen(RunningModel(), kNow, {80, false}));
}

TEST(RunScreen, ShowsTheNewestScoreOfEachName) {
  RunModel model = RunningModel();
  v1::Run run = model.run();
  v1::NewestScore& older = *run.mutable_progress()->add_scores();
  older.set_name("quiz/completion/acc");
  older.set_value(0.25);
  older.set_step(100);
  model.Apply(run);
  v1::MetricPoint point = Point(1500);
  v1::Score& score = *point.add_scores();
  score.set_name("val_bpb");
  score.set_value(2.5);
  model.Apply(point);
  EXPECT_THAT(RunScreen(model, kNow, {100, true}),
              HasSubstr("  scores      quiz/completion/acc 0.2500 @100   val_bpb 2.5000 @1,500"));
  EXPECT_THAT(RunDetails(run, {}, kNow, {0, true}),
              HasSubstr("quiz/completion/acc 0.2500 at step 100"));
}

TEST(RunDetails, NameTheModelThatTheRunBeganWith) {
  v1::Run run = RunningModel().run();
  EXPECT_THAT(RunDetails(run, {}, kNow, {0, true}), Not(HasSubstr("began with")));
  run.set_initial_model("base@250");
  EXPECT_THAT(RunDetails(run, {}, kNow, {0, true}), HasSubstr("\n  began with  base@250\n"));
  v1::CheckpointOfRun& parent = *run.mutable_parent();
  parent.set_run_id("aaaaaaaa01");
  parent.set_run_name("base");
  parent.set_step(250);
  parent.set_tokens(8000);
  EXPECT_THAT(RunDetails(run, {}, kNow, {0, true}),
              HasSubstr("\n  began with  base@250 (aaaaaaaa01), after 8,000 tokens\n"));
  parent.clear_run_name();
  EXPECT_THAT(RunDetails(run, {}, kNow, {0, true}), HasSubstr("began with  aaaaaaaa01@250, after"));
}

// No line is too wide, except a path and a command, which stay whole so that a user can copy them.
TEST(RunDetails, FitNarrowTerminals) {
  v1::Run run = RunningModel().run();
  run.set_reason("node a.example.com is away since 12:00, so that the ranks there are started " +
                 std::string("again on b.example.com when two slots are free"));
  run.set_run_directory("/" + std::string(100, 'd'));
  v1::RunEvent event;
  event.set_kind("rank_lost");
  event.set_reason(run.reason());
  for (const int width : {60, 80, 100}) {
    std::istringstream lines(
        RunDetails(run, {.newest_events = {event}, .next = "gpctl watch " + std::string(100, 'n')},
                   kNow, {width, true}));
    for (std::string line; std::getline(lines, line);) {
      const bool copied = line.starts_with("  directory  ") || line.starts_with("  next  ");
      EXPECT_TRUE(copied || DisplayWidth(line) <= width) << width << ": " << line;
    }
  }
}

TEST(RunDetails, SayWhereAWaitingRunStandsInTheQueue) {
  v1::Run run = MakeRun("next", "7f3k2q9a0f", v1::RUN_STATE_QUEUED);
  EXPECT_THAT(RunDetails(run, {}, kNow, {0, true}), Not(HasSubstr("queue  ")));
  run.set_queue_position(1207);
  EXPECT_THAT(RunDetails(run, {}, kNow, {0, true}),
              HasSubstr("  queue       place 1,207 of all that wait for slots\n"));
}

TEST(RunDetails, SayWhetherGradientsBetweenNodesAreEncrypted) {
  v1::Run run = MakeRun("both", "7f3k2q9a0d", v1::RUN_STATE_RUNNING);
  run.clear_placement();
  run.add_placement()->set_node_id("n1");
  run.set_gradients_encrypted(false);
  EXPECT_THAT(RunDetails(run, {}, kNow, {0, true}), Not(HasSubstr("gradients")))
      << "one rank sends none";
  run.add_placement()->set_node_id("n2");
  EXPECT_THAT(RunDetails(run, {}, kNow, {0, true}),
              HasSubstr("  gradients   not encrypted between nodes (gradients.encrypted"));
  run.set_gradients_encrypted(true);
  EXPECT_THAT(RunDetails(run, {}, kNow, {0, true}),
              HasSubstr("  gradients   encrypted between nodes (TLS 1.3)\n"));
}

TEST(RunScreen, ShowsWhyARunWaits) {
  RunModel model;
  v1::Run run = MakeRun("big", "7f3k2q9a0d", v1::RUN_STATE_QUEUED);
  run.clear_started_at();
  run.set_reason("placement: needs 4 slots, 1 free of 2");
  model.Apply(run);
  ExpectGolden("screen_queued_80.txt", RunScreen(model, kNow, {80, true}));
}

TEST(RunScreen, FitsAnyWidth) {
  for (int width = 20; width < 140; ++width) {
    ExpectNoLineWiderThan(width, RunScreen(RunningModel(), kNow, {width, true}));
    ExpectNoLineWiderThan(width, ProgressLine(RunningModel(), kNow, {width, true}));
  }
}

TEST(RunScreen, FitsTheHeightOfASmallTerminal) {
  RunModel model = RunningModel();
  v1::RunEvent event;
  for (int i = 1; i <= 5; ++i) {
    event.mutable_at()->set_seconds(1763716450 + i);
    event.set_reason(fmt::format("event {}", i));
    model.Apply(event);
  }
  ExpectGolden("screen_running_60x15.txt", RunScreen(model, kNow, {60, true, false, 15}));
  const std::string screen = RunScreen(model, kNow, {60, true, false, 12});
  EXPECT_EQ(std::count(screen.begin(), screen.end(), '\n'), 11) << screen;
  EXPECT_THAT(screen,
              AllOf(HasSubstr("event 3\n"), HasSubstr("event 5\n"), Not(HasSubstr("event 2"))));
}

TEST(RunScreen, HasTheColourOfItsState) {
  EXPECT_THAT(RunScreen(RunningModel(), kNow, {80, true, true}),
              HasSubstr("shakespeare  \x1b[33mRUNNING\x1b[0m  "))
      << "it has a warning";
  EXPECT_THAT(RunScreen(RunningModel(), kNow, {80, true, false}), Not(HasSubstr("\x1b")));
}

TEST(RunScreen, AsciiHasNoOtherBytes) {
  for (const char c : RunScreen(RunningModel(), kNow, {100, false})) {
    EXPECT_LT(static_cast<unsigned char>(c), 0x80);
  }
}

TEST(ProgressLine, FitsOneLine) {
  ExpectGolden("progress_line_80.txt", ProgressLine(RunningModel(), kNow, {80, true}) + "\n");
}

TEST(ProgressLine, GoesByTimeWhenTheStepsAreNotKnown) {
  RunModel model = RunningModel();
  v1::Run run = model.run();
  run.mutable_progress()->set_target_steps(0);
  model.Apply(run);
  model.SetTimeBudget(120);
  EXPECT_EQ(ProgressLine(model, kNow, {60, false}),
            "[#########    ]  step 500  loss 2.0512  15.2k tok/s  ETA 30s");
}

TEST(RunModel, AStepThatIsDoneAgainReplacesWhatFollowedIt) {
  RunModel model;
  for (int64_t step = 1; step <= 10; ++step) model.Apply(Point(step));
  model.Apply(Point(6));
  EXPECT_EQ(model.points().size(), 6u);
  EXPECT_EQ(model.points().back().step(), 6);
}

TEST(RunModel, ANoticeStaysUntilThereIsNews) {
  RunModel model = RunningModel();
  model.SetNotice("the coordinator cannot be reached");
  EXPECT_NE(RunScreen(model, kNow, {80, true}).find("! the coordinator"), std::string::npos);
  model.Apply(Point(501));
  EXPECT_EQ(RunScreen(model, kNow, {80, true}).find("! the coordinator"), std::string::npos);
}

TEST(RunModel, FindsSamplesInLogLines) {
  const auto sample = ParseSampleLine(
      "2026-11-21T09:41:12.123Z info gp-trainer sample step=500 text=\"The \\\"end\\\"\\nof \\\\ "
      "it\"");
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->step, 500);
  EXPECT_EQ(sample->text, "The \"end\"\nof \\ it");
  EXPECT_EQ(ParseSampleLine("sample step=7 text=word")->text, "word");
  EXPECT_FALSE(ParseSampleLine("evaluation step=500 loss=2"));
  EXPECT_FALSE(ParseSampleLine("sample step=x text=y"));
}

TEST(RunTable, LeavesOutWhatMattersLeastWhereItIsNarrow) {
  v1::Run run =
      MakeRun("fine-tune-of-the-whole-corpus-lr-3e-4-seed-17", "7f3k2q9a0e", v1::RUN_STATE_FAILED);
  run.set_reason(
      "rank 0: exited with code 1; its last line: 2026-11-21T09:41:12.123Z error gp-trainer no");
  ExpectGolden("list_80.txt", RunTable({run, RunningModel().run()}, kNow, {80, true}));
  ExpectGolden("list_60.txt", RunTable({run, RunningModel().run()}, kNow, {60, true}));
  for (int width = 20; width < 140; ++width) {
    ExpectNoLineWiderThan(width, RunTable({run, RunningModel().run()}, kNow, {width, true}));
  }
  const std::string whole = RunTable({run}, kNow, {0, true});
  EXPECT_THAT(whole, AllOf(HasSubstr("exited with code 1\n"), HasSubstr(run.name())));
}

TEST(RunTable, ColoursTheStates) {
  const auto table = [](v1::RunState state) {
    return RunTable({MakeRun("a", "7f3k2q9a0e", state)}, kNow, {100, true, true});
  };
  EXPECT_THAT(table(v1::RUN_STATE_FAILED), HasSubstr("a     \x1b[31mfailed\x1b[0m "));
  EXPECT_THAT(table(v1::RUN_STATE_SUCCEEDED), HasSubstr("\x1b[32msucceeded\x1b[0m "));
  EXPECT_THAT(table(v1::RUN_STATE_QUEUED), HasSubstr("\x1b[33mqueued\x1b[0m "));
  EXPECT_THAT(table(v1::RUN_STATE_CANCELLED), HasSubstr("\x1b[90mcancelled\x1b[0m "));
}

TEST(StepLine, LosesWhatMattersLeastWhereItIsNarrow) {
  v1::MetricPoint point = Point(500);
  point.set_validation_loss(2.1);
  EXPECT_EQ(
      StepLine(point, 2000, {}),
      "step 500/2000 | loss 2.2000 | val 2.1000 | norm 0.31 | lr 9.50e-04 | 50 ms | 31.4% mfu "
      "| 15.2k tok/s");
  EXPECT_EQ(StepLine(point, 2000, {80, true}),
            "step 500/2000 | loss 2.2000 | val 2.1000 | 50 ms | 31.4% mfu | 15.2k tok/s");
  EXPECT_EQ(StepLine(point, 2000, {60, true}),
            "step 500/2000 | loss 2.2000 | val 2.1000 | 15.2k tok/s");
}

TEST(EventText, IsBrokenBetweenWords) {
  v1::RunEvent event;
  event.mutable_at()->set_seconds(1763716447);
  event.set_state(v1::RUN_STATE_FAILED);
  event.set_kind("rank_failed");
  event.set_reason("data.text: /data/x.txt does not exist on node-c, and retrying cannot help");
  const std::string text = EventText(event, {60, true});
  ExpectNoLineWiderThan(60, text);
  EXPECT_THAT(text, HasSubstr("\n        "));
  EXPECT_THAT(EventText(event, {0, true}), Not(HasSubstr("\n")));
}

v1::Checkpoint Sealed(int64_t step) {
  v1::Checkpoint checkpoint;
  checkpoint.set_step(step);
  checkpoint.set_size_bytes(1'490'000'000);
  checkpoint.set_validation_loss(3.2958);
  checkpoint.mutable_sealed_at()->set_seconds(static_cast<int64_t>(kNow) - 7200);
  checkpoint.set_directory(fmt::format(
      "/home/someone/.local/share/gp/storage/runs/7f3k2q9a0c/checkpoints/step-{:08}-e12-0a1b2c3d",
      step));
  return checkpoint;
}

TEST(CheckpointTable, FitsATerminalAndIsWholeWhereThereIsNone) {
  v1::Checkpoint newest = Sealed(1'000'000);
  newest.set_latest(true);
  newest.set_best(true);
  v1::Checkpoint held = Sealed(500);
  held.mutable_quarantined_at()->set_seconds(static_cast<int64_t>(kNow));
  held.set_quarantine_reason("two readers say that it is damaged: " + std::string(30, 'x') +
                             "/model.safetensors has another digest than the manifest says");
  for (const int width : {60, 80}) {
    const std::string text = CheckpointTable({held, newest}, kNow, {width, true});
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const bool copied = line.starts_with("The directories are in ");
      EXPECT_TRUE(copied || DisplayWidth(line) <= width) << width << ": " << line;
    }
    EXPECT_THAT(text, HasSubstr("latest, best"));
    EXPECT_THAT(text, HasSubstr("\nThe directories are in /home/someone/.local/share/gp/storage/"
                                "runs/7f3k2q9a0c/checkpoints/\n"));
  }
  EXPECT_THAT(CheckpointTable({newest}, kNow, {0, true}),
              HasSubstr("  latest, best  " + newest.directory() + "\n"));
}

v1::RunEvent EventOf(const std::string& kind, const std::string& reason) {
  v1::RunEvent event;
  event.set_kind(kind);
  event.set_reason(reason);
  return event;
}

TEST(NewestEvents, CheckpointsDoNotPushOutTheOthers) {
  RunModel model = RunningModel();
  for (int save = 1; save <= 12; ++save) {
    model.Apply(EventOf("checkpoint_sealed", fmt::format("checkpoint of step {} sealed", save)));
    model.Apply(EventOf("checkpoint_retired", "checkpoint of an older step retired"));
  }
  const std::string screen = RunScreen(model, kNow, {100, true});
  EXPECT_THAT(screen, HasSubstr("rank 1 lost its peer"));
  EXPECT_THAT(screen, HasSubstr("12 checkpoints sealed, the newest: checkpoint of step 12 sealed"));
  EXPECT_THAT(screen, Not(HasSubstr("retired")));
  model.Apply(EventOf("rank_failed", "killed"));
  model.Apply(EventOf("checkpoint_sealed", "checkpoint of step 13 sealed"));
  ASSERT_EQ(model.events().size(), 4u);
  EXPECT_EQ(model.events().back().reason(), "checkpoint of step 13 sealed");
}

TEST(RunTable, NamesTheNamespacesWhereSeveralAreShown) {
  v1::Run other = MakeRun("tiny", "7f3k2q9a0d", v1::RUN_STATE_QUEUED);
  EXPECT_THAT(RunTable({other}, kNow, {80, true}), Not(HasSubstr("NAMESPACE")));
  other.set_namespace_("research");
  const std::string text =
      RunTable({MakeRun("tiny", "7f3k2q9a0c", v1::RUN_STATE_RUNNING), other}, kNow, {80, true});
  ExpectNoLineWiderThan(80, text);
  EXPECT_THAT(text,
              AllOf(HasSubstr("NAME  NAMESPACE  STATE"), HasSubstr("tiny  default    running"),
                    HasSubstr("tiny  research   queued")));
}

TEST(RunText, ShowsTablesAndDetails) {
  v1::Run failed = MakeRun("lr-sweep", "7f3k2q9a0e", v1::RUN_STATE_FAILED);
  failed.set_reason("rank 1 on node-c: data.text: /data/x.txt does not exist");
  ExpectGolden("list_100.txt", RunTable({RunningModel().run(), failed,
                                         MakeRun("next", "7f3k2q9a0f", v1::RUN_STATE_QUEUED)},
                                        kNow, {100, true}));
  ExpectGolden(
      "status_running.txt",
      RunDetails(RunningModel().run(), {.next = "gpctl watch shakespeare"}, kNow, {0, true}));
  v1::RunEvent event;
  event.mutable_at()->set_seconds(1763716447);
  event.set_state(v1::RUN_STATE_FAILED);
  event.set_kind("rank_failed");
  event.set_actor("node node-c");
  event.set_reason("exit code 2");
  ExpectGolden(
      "status_failed.txt",
      RunDetails(failed, {.newest_events = {event}, .next = "gpctl " + NextCommand(failed)}, kNow,
                 {0, true}));
}

TEST(RunText, StepLineReadsLikeLlmC) {
  EXPECT_EQ(
      StepLine(Point(250), 2000, {}),
      "step 250/2000 | loss 2.7000 | norm 0.11 | lr 9.50e-04 | 50 ms | 31.4% mfu | 15.2k tok/s");
  v1::MetricPoint evaluated = Point(250);
  evaluated.set_validation_loss(2.75);
  evaluated.set_mfu(0);
  v1::Score& score = *evaluated.add_scores();
  score.set_name("val_bpb");
  score.set_value(1.5);
  EXPECT_EQ(StepLine(evaluated, 0, {}),
            "step 250 | loss 2.7000 | val 2.7500 | val_bpb 1.5000 | norm 0.11 | lr 9.50e-04 | 50 "
            "ms | 15.2k tok/s");
}

}  // namespace
}  // namespace gp::gpctl
