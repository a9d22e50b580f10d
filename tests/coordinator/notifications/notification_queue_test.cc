#include "coordinator/notifications/notification_queue.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"
#include "lib/base/file_mode.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

constexpr int64_t kHour = 3'600'000'000;

QueueAddition::Row Row(const std::string& target, const std::string& key, uint64_t sequence,
                       Timestamp at = At(kHour)) {
  return {.target = target, .key = key, .body = "body of " + key, .at = at, .sequence = sequence};
}

class NotificationQueueTest : public ::testing::Test {
 protected:
  NotificationQueue& Open(const QueueLimits& limits = {}) {
    queue_.reset();
    queue_ = NotificationQueue::Open(directory_.path(), limits).value();
    return *queue_;
  }
  void Add(const QueueAddition& addition) {
    const auto added = queue_->Add(addition, At(kHour));
    ASSERT_TRUE(added.ok()) << added.status();
  }
  // The keys of the queue in the order in which they are sent, if all are accepted.
  std::vector<std::string> SendAll(const std::string& target) {
    std::vector<std::string> keys;
    while (const auto next = queue_->Next(target).value()) {
      keys.push_back(next->key);
      EXPECT_EQ(next->body, "body of " + next->key);
      EXPECT_TRUE(queue_->Sent(next->id).ok());
    }
    return keys;
  }

  const TemporaryDirectory directory_;
  std::unique_ptr<NotificationQueue> queue_;
};

using Keys = std::vector<std::string>;

TEST_F(NotificationQueueTest, KeepsWhatIsNotSentAcrossRestarts) {
  ASSERT_TRUE(Open().SetTargets({"a", "b"}, 0).ok());
  Add({.rows = {Row("a", "k1", 1), Row("a", "k2", 2), Row("b", "k2", 2)}, .through = 2});
  ASSERT_TRUE(queue_->Sent(queue_->Next("a").value()->id).ok());
  ASSERT_TRUE(Open().SetTargets({"a", "b"}, 2).ok());
  EXPECT_EQ(queue_->Cursor().value(), 2u);
  EXPECT_EQ(SendAll("a"), Keys{"k2"});
  EXPECT_EQ(SendAll("b"), Keys{"k2"});
}

TEST_F(NotificationQueueTest, AnEventThatIsReadAgainAddsNothing) {
  ASSERT_TRUE(Open().SetTargets({"a"}, 0).ok());
  const QueueAddition addition{.rows = {Row("a", "k1", 1)}, .through = 1};
  Add(addition);
  Add(addition);
  EXPECT_EQ(SendAll("a"), Keys{"k1"});
  Add(addition);  // the cursor remembers it, also when it was sent
  EXPECT_EQ(SendAll("a"), Keys{});
}

TEST_F(NotificationQueueTest, ANewTargetBeginsAtTheEndOfTheLog) {
  ASSERT_TRUE(Open().SetTargets({"a"}, 0).ok());
  ASSERT_TRUE(Open().SetTargets({"a", "b"}, 5).ok());
  EXPECT_EQ(queue_->Cursor().value(), 0u);
  Add({.rows = {Row("a", "k5", 5), Row("b", "k5", 5), Row("b", "k6", 6)}, .through = 6});
  EXPECT_EQ(SendAll("a"), Keys{"k5"});
  EXPECT_EQ(SendAll("b"), Keys{"k6"});
}

TEST_F(NotificationQueueTest, ATargetThatIsGoneIsForgotten) {
  ASSERT_TRUE(Open().SetTargets({"a", "b"}, 0).ok());
  Add({.rows = {Row("a", "k1", 1), Row("b", "k1", 1)}, .through = 1});
  EXPECT_EQ(queue_->SetTargets({"b"}, 1).value(), (TargetCounts{{"a", 1}}));
  EXPECT_EQ(SendAll("a"), Keys{});
  EXPECT_EQ(SendAll("b"), Keys{"k1"});
}

TEST_F(NotificationQueueTest, AfterARestoreOfTheLogTheCursorIsNotBeyondIt) {
  ASSERT_TRUE(Open().SetTargets({"a"}, 0).ok());
  Add({.through = 100});
  ASSERT_TRUE(queue_->SetTargets({"a"}, 40).ok());
  EXPECT_EQ(queue_->Cursor().value(), 40u);
}

TEST_F(NotificationQueueTest, OneThatIsRefusedDoesNotHoldUpTheOthers) {
  ASSERT_TRUE(Open().SetTargets({"a"}, 0).ok());
  Add({.rows = {Row("a", "k1", 1), Row("a", "k2", 2), Row("a", "k3", 3)}, .through = 3});
  ASSERT_TRUE(queue_->Failed(queue_->Next("a").value()->id).ok());
  const auto next = queue_->Next("a").value();
  EXPECT_EQ(next->key, "k2");
  EXPECT_EQ(next->tries, 0);
  EXPECT_EQ(SendAll("a"), (Keys{"k2", "k3", "k1"}));
}

TEST_F(NotificationQueueTest, DropsTheOldestBeyondItsLimitAndCountsThem) {
  ASSERT_TRUE(Open({.queued_max = 2}).SetTargets({"a"}, 0).ok());
  const auto dropped = queue_->Add(
      {.rows = {Row("a", "k1", 1), Row("a", "k2", 2), Row("a", "k3", 3)}, .through = 3}, At(kHour));
  EXPECT_EQ(dropped.value(), (TargetCounts{{"a", 1}}));
  EXPECT_EQ(queue_->StateOf("a")->queued, 2);
  EXPECT_EQ(queue_->StateOf("a")->dropped, 1);
  EXPECT_EQ(SendAll("a"), (Keys{"k2", "k3"}));
}

TEST_F(NotificationQueueTest, DropsWhatIsTooOld) {
  ASSERT_TRUE(Open({.age_max = std::chrono::hours(2)}).SetTargets({"a"}, 0).ok());
  Add({.rows = {Row("a", "k1", 1, At(0)), Row("a", "k2", 2, At(kHour))}, .through = 2});
  EXPECT_EQ(queue_->StateOf("a")->oldest, At(0));
  EXPECT_EQ(queue_->Add({}, At(5 * kHour / 2)).value(), (TargetCounts{{"a", 1}}));
  EXPECT_EQ(queue_->StateOf("a")->oldest, At(kHour));
  EXPECT_EQ(SendAll("a"), Keys{"k2"});
  EXPECT_EQ(queue_->StateOf("a")->oldest, std::nullopt);
}

TEST_F(NotificationQueueTest, RemembersReportedWaitsUntilTheyEnd) {
  ASSERT_TRUE(Open().SetTargets({"a"}, 0).ok());
  Add({.rows = {Row("a", "w1", 0)}, .waits = {{RunId("r"), 1}, {RunId("s"), 2}}});
  Open();
  EXPECT_EQ(queue_->ReportedWaits().value(),
            (std::map<RunId, uint64_t>{{RunId("r"), 1}, {RunId("s"), 2}}));
  Add({.ended_waits = {RunId("r")}, .through = 3});
  EXPECT_EQ(queue_->ReportedWaits().value(), (std::map<RunId, uint64_t>{{RunId("s"), 2}}));
}

TEST_F(NotificationQueueTest, OnlyItsOwnerMayReadTheFile) {
  Open();
  EXPECT_EQ(ModeOf(directory_.File("notifications.db")), 0600);
}

}  // namespace
}  // namespace gp::coordinator
