// What the service's retention takes, and what it never takes.
#include "coordinator/scheduler/ended_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

using RunValue = Run;  // a fixture has a method Run

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Ids = std::vector<RunId>;

constexpr Timestamp kFirstHour = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

class EndedRuns : public ::testing::Test {
 protected:
  // A run that ended at this hour, with checkpoints of 10 bytes at steps 1, 2 and 3. Runs end in
  // the order of hours.
  RunValue Ended(const std::string& id, int hour) {
    RunValue run;
    run.id = RunId(id);
    Submission submission = SampleSubmission();
    submission.parent_run.clear();
    submission.run_directory = "/storage/runs/" + id;
    submission.resolved.clear();
    run.submission = std::make_shared<const Submission>(submission);
    run.submitted_sequence = ++submitted_;
    run.state = RunState::kSucceeded;
    run.finished_at = kFirstHour + std::chrono::hours(hour);
    run.ended_sequence = static_cast<uint64_t>(hour);
    for (const int step : {1, 2, 3}) {
      SealedCheckpoint one;
      one.step = step;
      one.size_bytes = 10;
      run.checkpoints.push_back(one);
    }
    return run;
  }
  void Add(RunValue run) { cluster_.Set(std::move(run)); }
  Ids ToDelete(const EndedRunsPolicy& policy, int hour = 100) const {
    ObservedTime time;
    time.Note({Instant(), kFirstHour + std::chrono::hours(hour)});
    return EndedRunsToDelete(cluster_, policy, time);
  }

  Cluster cluster_;
  uint64_t submitted_ = 0;
};

TEST_F(EndedRuns, TrialsOfASweepStayUntilItEnds) {
  Add(Ended("a", 10));
  Add(Ended("b", 20));
  SweepSpec spec{.name = "s", .run_namespace = "default", .trials = {}};
  spec.trials = {{.run = RunId("a")}};
  const Event submit{.request_id = "s",
                     .body = SweepSubmitted{std::make_shared<const SweepSpec>(spec)}};
  ASSERT_TRUE(Apply(submit, cluster_).ok());
  const EndedRunsPolicy policy{.age = std::chrono::hours(1)};
  EXPECT_THAT(ToDelete(policy), ElementsAre(RunId("b")));
  const Event end{.body = SweepEnded{spec.id(), SweepState::kSucceeded, "done"}};
  ASSERT_TRUE(Apply(end, cluster_).ok());
  EXPECT_THAT(ToDelete(policy), ElementsAre(RunId("a"), RunId("b")));
}

TEST_F(EndedRuns, AreDeletedByAge) {
  Add(Ended("b", 20));
  Add(Ended("a", 10));
  Add(Ended("c", 30));
  EXPECT_THAT(ToDelete({.age = std::chrono::hours(75)}), ElementsAre(RunId("a"), RunId("b")));
  EXPECT_THAT(ToDelete({.age = std::chrono::hours(95)}), IsEmpty());
}

TEST_F(EndedRuns, AreDeletedByNumber) {
  Add(Ended("a", 10));
  Add(Ended("b", 20));
  Add(Ended("c", 30));
  EXPECT_THAT(ToDelete({.count = 1}), ElementsAre(RunId("a"), RunId("b")));
  EXPECT_THAT(ToDelete({.count = 3}), IsEmpty());
  EXPECT_THAT(ToDelete({}), IsEmpty()) << "off";
}

TEST_F(EndedRuns, TimeThatTheClockSkippedIsNoAge) {
  Add(Ended("a", 10));
  ObservedTime time;
  const auto note = [&](int passed, int shown) {
    time.Note({Instant(std::chrono::hours(passed)), kFirstHour + std::chrono::hours(shown)});
    return EndedRunsToDelete(cluster_, {.age = std::chrono::hours(24)}, time);
  };
  EXPECT_THAT(note(0, 11), IsEmpty());
  EXPECT_THAT(note(1, 100'000), IsEmpty());
  EXPECT_THAT(note(22, 100'021), IsEmpty());
  EXPECT_THAT(note(24, 100'023), ElementsAre(RunId("a")));
}

TEST_F(EndedRuns, AnEndInTheFutureIsThatOfTheNextRun) {
  RunValue wrong = Ended("wrong", 10);
  wrong.finished_at = kFirstHour + std::chrono::years(70);
  Add(wrong);
  EXPECT_THAT(ToDelete({.age = std::chrono::hours(24)}), IsEmpty()) << "nobody knows its age";
  Add(Ended("next", 20));
  EXPECT_THAT(ToDelete({.age = std::chrono::hours(24)}, 44), IsEmpty());
  EXPECT_THAT(ToDelete({.age = std::chrono::hours(24)}, 45),
              ElementsAre(RunId("wrong"), RunId("next")));
}

TEST_F(EndedRuns, AnEndBeforeThatOfAnEarlierRunIsThatOfTheNextOne) {
  Add(Ended("first", 10));
  RunValue wrong = Ended("wrong", 20);
  wrong.finished_at = Timestamp();
  Add(wrong);
  Add(Ended("next", 30));
  EXPECT_THAT(ToDelete({.age = std::chrono::hours(24)}, 50), ElementsAre(RunId("first")));
  EXPECT_THAT(ToDelete({.age = std::chrono::hours(24)}, 55),
              ElementsAre(RunId("first"), RunId("wrong"), RunId("next")));
}

TEST_F(EndedRuns, AnEndBeforeGpExistedHasNoAge) {
  RunValue wrong = Ended("wrong", 10);
  wrong.finished_at = Timestamp(std::chrono::hours(5));
  Add(wrong);
  EXPECT_THAT(ToDelete({.age = std::chrono::hours(24)}), IsEmpty());
}

TEST_F(EndedRuns, WhileTheClockSaysThatAllIsInTheFutureNoneIsOld) {
  Add(Ended("a", 10));
  Add(Ended("b", 20));
  EXPECT_THAT(ToDelete({.age = std::chrono::hours(1)}, -24 * 365 * 56), IsEmpty());
}

TEST_F(EndedRuns, TheOrderIsThatOfTheEndsWhateverTheClockSaid) {
  RunValue first = Ended("first", 10);
  first.finished_at = kFirstHour + std::chrono::years(70);
  Add(first);
  Add(Ended("second", 20));
  EXPECT_THAT(ToDelete({.count = 1}), ElementsAre(RunId("first")));
}

TEST_F(EndedRuns, UnfinishedRunsStay) {
  RunValue run = Ended("a", 10);
  run.state = RunState::kRunning;
  Add(run);
  run.id = RunId("b");
  run.state = RunState::kPaused;
  Add(run);
  EXPECT_THAT(ToDelete({.age = std::chrono::hours(1), .count = 1}), IsEmpty());
}

TEST_F(EndedRuns, BasesAndRunsWithAPinnedCheckpointStay) {
  Add(Ended("base", 10));
  RunValue child = Ended("child", 90);
  Submission submission = *child.submission;
  submission.parent_run = "base";
  child.submission = std::make_shared<const Submission>(submission);
  Add(child);
  RunValue pinned = Ended("pinned", 20);
  pinned.checkpoints[0].pinned = true;
  Add(pinned);
  Add(Ended("other", 30));
  EXPECT_THAT(ToDelete({.age = std::chrono::hours(50)}), ElementsAre(RunId("other")));
  cluster_.Delete(child, {.id = child.id});
  EXPECT_THAT(ToDelete({.age = std::chrono::hours(50)}),
              ElementsAre(RunId("base"), RunId("other")));
}

TEST_F(EndedRuns, ARunThatANewOneIsAboutToBeginFromStays) {
  Add(Ended("base", 10));
  RunValue waiting = Ended("waiting", 0);
  waiting.state = RunState::kQueued;
  waiting.checkpoints.clear();
  Submission submission = *waiting.submission;
  submission.resolved = "init_from: /storage/runs/base/checkpoints/imported\n";
  waiting.submission = std::make_shared<const Submission>(submission);
  Add(waiting);
  EXPECT_THAT(ToDelete({.age = std::chrono::hours(50)}), IsEmpty());
}

TEST_F(EndedRuns, ArePrunedUntilEnoughIsFree) {
  Add(Ended("a", 10));
  Add(Ended("b", 20));
  RunValue pruned = Ended("c", 5);
  pruned.checkpoints[0].retired = pruned.checkpoints[1].retired = true;
  Add(pruned);
  EXPECT_THAT(EndedRunsToPrune(cluster_, 0), IsEmpty());
  EXPECT_THAT(EndedRunsToPrune(cluster_, 20), ElementsAre(RunId("a")));
  EXPECT_THAT(EndedRunsToPrune(cluster_, 21), ElementsAre(RunId("a"), RunId("b")));
  EXPECT_THAT(EndedRunsToPrune(cluster_, 1000), ElementsAre(RunId("a"), RunId("b")));
}

TEST_F(EndedRuns, TheWatermarkIsAShareOfTheStorage) {
  const EndedRunsPolicy policy{.disk_watermark = 0.75};
  EXPECT_EQ(BytesAboveWatermark(policy, 1000, 250), 0u);
  EXPECT_EQ(BytesAboveWatermark(policy, 1000, 200), 50u);
  EXPECT_EQ(BytesAboveWatermark(policy, 1000, 0), 250u);
  EXPECT_EQ(BytesAboveWatermark({}, 1000, 0), 0u);
}

}  // namespace
}  // namespace gp::coordinator
