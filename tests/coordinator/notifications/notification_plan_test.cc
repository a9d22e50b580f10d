#include "coordinator/notifications/notification_plan.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

std::vector<NotificationTarget> SampleTargets() {
  return {{.name = "all", .events = {Occasion::kFinished, Occasion::kFailed, Occasion::kWaiting}},
          {.name = "failures", .events = {Occasion::kFailed}},
          {.name = "others", .events = {Occasion::kFailed}, .namespaces = {"elsewhere"}},
          // SampleSubmission names ops and chat.
          {.name = "ops", .events = {Occasion::kFinished}, .runs = TargetRuns::kNamed},
          {.name = "ana", .events = {Occasion::kFinished}, .runs = TargetRuns::kNamed}};
}

StoredEvent Ended(uint64_t sequence, const std::string& run, RunState state) {
  return {sequence, {.run = RunId(run), .at = At(5), .body = RunEnded{state, "because"}}};
}

RunKnowledge Knowledge() {
  return {.run = [](const RunId& id) -> StatusOr<std::shared_ptr<const Run>> {
            if (id == RunId("lost")) return Unavailable("the disk is away");
            if (id == RunId("unknown")) return nullptr;
            Run run;
            run.id = id;
            run.submission = std::make_shared<const Submission>(SampleSubmission());
            return std::make_shared<const Run>(run);
          },
          .progress = [](const RunId&) { return Progress(); }};
}

std::vector<std::pair<std::string, std::string>> TargetsAndKeys(const QueueAddition& addition) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const QueueAddition::Row& row : addition.rows) found.emplace_back(row.target, row.key);
  return found;
}

TEST(NotificationPlan, EachTargetGetsWhatItWants) {
  const QueueAddition addition = PlanNotifications({Ended(7, "a", RunState::kFailed),
                                                    Ended(8, "b", RunState::kSucceeded),
                                                    Ended(9, "unknown", RunState::kFailed),
                                                    {10, {.body = NodeCordoned{NodeId("n")}}}},
                                                   SampleTargets(), Knowledge())
                                     .value();
  using Rows = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(TargetsAndKeys(addition), (Rows{{"all", "a-failed-7-5"},
                                            {"failures", "a-failed-7-5"},
                                            {"all", "b-finished-8-5"},
                                            {"ops", "b-finished-8-5"}}));
  EXPECT_EQ(addition.rows[0].sequence, 7u);
  EXPECT_EQ(addition.rows[0].at, At(5));
  EXPECT_EQ(addition.through, 10u);
  EXPECT_EQ(addition.ended_waits, (std::vector{RunId("a"), RunId("b"), RunId("unknown")}));
}

TEST(NotificationPlan, AnEventWhoseRunCannotBeReadIsNotSkipped) {
  EXPECT_EQ(PlanNotifications({Ended(7, "lost", RunState::kFailed)}, SampleTargets(), Knowledge())
                .status()
                .code(),
            StatusCode::kUnavailable);
}

TEST(NotificationPlan, AWaitIsRememberedWithItsNotification) {
  const QueueAddition addition =
      PlanWaitingNotifications({{RunId("a"), {3, At(1)}}}, At(9), SampleTargets(), Knowledge())
          .value();
  using Rows = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(TargetsAndKeys(addition), (Rows{{"all", "a-waiting-3-1"}}));
  EXPECT_EQ(addition.waits, (std::map<RunId, uint64_t>{{RunId("a"), 3}}));
  EXPECT_EQ(addition.through, 0u);
}

}  // namespace
}  // namespace gp::coordinator
