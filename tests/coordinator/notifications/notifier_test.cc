#include "coordinator/notifications/notifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <sys/stat.h>

#include <atomic>

#include "base/mutex.h"
#include "coordinator/control/replay.h"
#include "coordinator/notifications/fake_post.h"
#include "coordinator/store/sample_events.h"
#include "coordinator/store/sqlite_store.h"
#include "fakes/fake_clock.h"
#include "lib/base/eventually.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The coordinator's store and the notifier, which a test may restart.
class NotifierTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(chmod(directory_.Write("secret", "0123456789abcdef").c_str(), 0600), 0);
    store_ = SqliteStore::Open(directory_.path()).value();
    Append({});
  }

  void Append(const std::vector<Event>& events) {
    if (!events.empty()) {
      ASSERT_TRUE(store_->Append(events).ok());
    }
    auto cluster = std::make_shared<const Cluster>(ReplayStore(*store_).value());
    MutexLock lock(mutex_);
    cluster_ = std::move(cluster);
  }

  Event Of(const std::string& run, EventBody body) {
    return {
        .run = RunId(run), .at = clock_.WallNow(), .actor = "scheduler", .body = std::move(body)};
  }
  Event Submitted(const std::string& run) {
    Event event = SampleSubmit(run, "request-" + run);
    event.at = clock_.WallNow();
    return event;
  }
  Event Failed(const std::string& run) {
    return Of(run, RunEnded{RunState::kFailed, "broken", /*set_aside=*/true});
  }

  NotificationTarget MakeTarget(const std::string& name, std::set<Occasion> events) const {
    return {.name = name,
            .url = "https://a/",
            .secret_file = directory_.File("secret"),
            .events = std::move(events)};
  }

  // As a start of the coordinator would.
  Notifier& Open(std::vector<NotificationTarget> targets) {
    notifier_.reset();
    auto opened =
        Notifier::Open({.targets = std::move(targets)},
                       {.state_dir = directory_.path(),
                        .snapshot = [this] { return Snapshot(); },
                        .progress = [](const RunId&) { return Progress(); },
                        .series = series_,
                        .clock = clock_},
                       {.period = std::chrono::milliseconds(5),
                        .sender = {.backoff = {.initial = std::chrono::milliseconds(1)},
                                   .post = [this](const WebhookRequest& request, const auto&) {
                                     return post_(request);
                                   }}});
    EXPECT_TRUE(opened.ok()) << opened.status();
    notifier_ = *std::move(opened);
    return *notifier_;
  }
  Notifier& OpenFailures() { return Open({MakeTarget("a", {Occasion::kFailed})}); }

  std::shared_ptr<const Cluster> Snapshot() {
    MutexLock lock(mutex_);
    return cluster_;
  }
  int64_t QueuedFor(size_t target) { return notifier_->States()->at(target).queue.queued; }

  const TemporaryDirectory directory_;
  FakeClock clock_;
  std::unique_ptr<SqliteStore> store_;
  Mutex mutex_;
  std::shared_ptr<const Cluster> cluster_ GUARDED_BY(mutex_);
  prometheus::Registry registry_;
  NotificationSeries series_{registry_};
  FakePost post_;
  std::unique_ptr<Notifier> notifier_;
};

TEST_F(NotifierTest, QueuesWhatFollowsFromTheLog) {
  Notifier& notifier = OpenFailures();
  Append({Submitted("r"), Failed("r")});
  ASSERT_TRUE(notifier.Look().ok());
  EXPECT_EQ(QueuedFor(0), 1);
  ASSERT_TRUE(notifier.Look().ok());
  EXPECT_EQ(QueuedFor(0), 1);
}

TEST_F(NotifierTest, WhatHappenedBeforeATargetWasConfiguredIsNotSent) {
  Append({Submitted("r"), Failed("r")});
  ASSERT_TRUE(OpenFailures().Look().ok());
  EXPECT_EQ(QueuedFor(0), 0);
}

TEST_F(NotifierTest, WhatHappenedJustBeforeACrashIsSentAfterTheRestart) {
  OpenFailures();
  Append({Submitted("r"), Failed("r")});  // durable, but nobody looked
  ASSERT_TRUE(OpenFailures().Look().ok());
  EXPECT_EQ(QueuedFor(0), 1);
  ASSERT_TRUE(OpenFailures().Look().ok());
  EXPECT_EQ(QueuedFor(0), 1);
}

TEST_F(NotifierTest, DoesNotReadBeyondThePublishedState) {
  Notifier& notifier = OpenFailures();
  ASSERT_TRUE(store_->Append({Submitted("r"), Failed("r")}).ok());
  ASSERT_TRUE(notifier.Look().ok());
  EXPECT_EQ(QueuedFor(0), 0);
  Append({});
  ASSERT_TRUE(notifier.Look().ok());
  EXPECT_EQ(QueuedFor(0), 1);
}

TEST_F(NotifierTest, ARunThatWasDeletedMeanwhileIsKnownFromTheLog) {
  OpenFailures();
  Append({Submitted("r"), Failed("r"), Of("r", RunDeleted{})});
  ASSERT_TRUE(OpenFailures().Look().ok());
  ASSERT_EQ(QueuedFor(0), 1);
  notifier_->Start();
  ASSERT_TRUE(Eventually([&] { return post_.requests().size() == 1; }));
  EXPECT_THAT(post_.requests()[0].body, HasSubstr(R"("name":"tiny")"));
}

TEST_F(NotifierTest, AReceiverThatFailsHalfOfTheTimeGetsEveryNotification) {
  int calls = 0;
  std::set<std::string> accepted;
  std::atomic<size_t> accepted_count = 0;
  post_.SetAnswer([&](const WebhookRequest& request) -> StatusOr<WebhookReply> {
    if (++calls % 2 == 1) return Unavailable("connection reset");
    accepted.insert(request.body);
    accepted_count = accepted.size();
    return WebhookReply{200, ""};
  });
  for (int start = 0; start < 5; ++start) {
    OpenFailures().Start();
    const std::string run = "r" + std::to_string(start);
    Append({Submitted(run)});
    Append({Failed(run)});
  }
  EXPECT_TRUE(Eventually([&] { return accepted_count == 5 && QueuedFor(0) == 0; }));
  notifier_->Stop();
}

TEST_F(NotifierTest, ALongWaitIsReportedOnceAlsoAcrossRestarts) {
  const std::vector<NotificationTarget> targets = {MakeTarget("a", {Occasion::kWaiting})};
  Open(targets);
  Append({Submitted("r")});
  ASSERT_TRUE(notifier_->Look().ok());
  clock_.Advance(std::chrono::minutes(29));
  ASSERT_TRUE(Open(targets).Look().ok());
  EXPECT_EQ(QueuedFor(0), 0);
  clock_.Advance(std::chrono::minutes(2));
  ASSERT_TRUE(notifier_->Look().ok());
  EXPECT_EQ(QueuedFor(0), 1);
  notifier_->Start();
  ASSERT_TRUE(Eventually([&] { return QueuedFor(0) == 0; }));
  ASSERT_TRUE(Open(targets).Look().ok());
  EXPECT_EQ(QueuedFor(0), 0);
}

TEST_F(NotifierTest, ATestNamesTheTargetsThereAre) {
  Status refusal;
  OpenFailures().Test("b", [&](const auto& reply) { refusal = reply.status(); });
  EXPECT_EQ(refusal.code(), StatusCode::kNotFound);
  EXPECT_EQ(gp::Message(refusal), "there is no notification target 'b'; there are: a");
}

}  // namespace
}  // namespace gp::coordinator
