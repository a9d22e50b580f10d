#include "coordinator/notifications/notification.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

using Json = nlohmann::json;

Run SampleRun() {
  Run run;
  run.id = RunId("r7");
  Submission submission = SampleSubmission();
  submission.name = "<!channel> & co";
  run.submission = std::make_shared<const Submission>(submission);
  run.submitted_by = "user alice";
  run.state = RunState::kBackoff;
  run.reason = "waits";
  SealedCheckpoint checkpoint;
  checkpoint.step = 40;
  checkpoint.validation_loss = 2.25;
  run.checkpoints = {checkpoint};
  return run;
}

StoredEvent Stored(EventBody body) {
  return {17, {.run = RunId("r7"), .at = At(1'700'000'000'123'456), .body = std::move(body)}};
}

TEST(Notification, SaysWhatHappenedToWhichRun) {
  Progress progress;
  progress.newest.emplace();
  progress.newest->step = 57;
  progress.newest->loss = NAN;
  const Notification made =
      MakeNotification(Occasion::kFailed, Stored(RunEnded{RunState::kFailed, "rank 0: no disk"}),
                       SampleRun(), progress);
  EXPECT_EQ(made.key, "r7-failed-17-1700000000123456");
  EXPECT_EQ(Json::parse(made.body), Json::parse(R"({
    "apiVersion": "gp/v1", "kind": "Notification", "event": "failed",
    "time": "2023-11-14T22:13:20.123Z", "key": "r7-failed-17-1700000000123456",
    "run": {"id": "r7", "name": "<!channel> & co", "namespace": "team", "user": "user alice",
            "state": "failed", "reason": "rank 0: no disk", "step": 40, "target_steps": 100,
            "losses": {"training": null, "training_step": 57, "best_validation": 2.25,
                       "best_validation_step": 40}}})"));
}

TEST(Notification, OfACheckpointHasItsLossAndStep) {
  const Notification made = MakeNotification(
      Occasion::kNewBest, Stored(CheckpointSealed{1, {.step = 80, .validation_loss = 1.5}}),
      SampleRun(), {});
  const Json run = Json::parse(made.body)["run"];
  EXPECT_EQ(run["step"], 80);
  EXPECT_EQ(run["losses"]["validation"], 1.5);
  EXPECT_EQ(run["reason"], "validation loss 1.5000 at step 80, the lowest of this run so far");
}

TEST(Notification, OfAStallNamesTheRank) {
  const Notification made = MakeNotification(
      Occasion::kStalled, Stored(RankFailed{1, 3, ExitCause::kStalled, "no step for 12 s"}),
      SampleRun(), {});
  EXPECT_EQ(Json::parse(made.body)["run"]["reason"], "rank 3: no step for 12 s");
}

TEST(Notification, TheKeyOfAWaitFollowsFromItsBeginning) {
  const auto make = [](int64_t now_seconds) {
    return MakeWaitingNotification(5, At(1'000'000), At(now_seconds * 1'000'000), SampleRun());
  };
  EXPECT_EQ(make(61).key, "r7-waiting-5-1000000");
  EXPECT_EQ(make(99).key, make(61).key);
  EXPECT_EQ(Json::parse(make(61).body)["run"]["reason"], "has waited for 1m00s: waits");
}

TEST(Notification, BytesThatAreNotUtf8AreReplaced) {
  const Notification made = MakeNotification(
      Occasion::kFailed, Stored(RunEnded{RunState::kFailed, "bad \xff byte"}), SampleRun(), {});
  EXPECT_EQ(Json::parse(made.body)["run"]["reason"], "bad \uFFFD byte");
}

TEST(Notification, SlackGetsOneTextWithoutMentions) {
  const Notification made =
      MakeNotification(Occasion::kFinished, Stored(RunEnded{RunState::kSucceeded, "all 100 steps"}),
                       SampleRun(), {});
  EXPECT_EQ(BodyFor(TargetKind::kWebhook, made.body), made.body);
  EXPECT_EQ(Json::parse(BodyFor(TargetKind::kSlack, made.body)),
            Json({{"text",
                   "gp: run &lt;!channel&gt; &amp; co of namespace team (r7): *finished*, step 40 "
                   "of 100. all 100 steps"}}));
  EXPECT_EQ(
      Json::parse(BodyFor(TargetKind::kSlack, MakeTestNotification("x", At(1)).body)),
      Json({{"text", "gp: a test of this notification target, sent by 'gpctl notify test'"}}));
}

}  // namespace
}  // namespace gp::coordinator
