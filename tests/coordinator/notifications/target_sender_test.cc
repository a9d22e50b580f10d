#include "coordinator/notifications/target_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/stat.h>

#include <future>

#include "coordinator/notifications/fake_post.h"
#include "coordinator/notifications/signature.h"
#include "coordinator/store/sample_events.h"
#include "fakes/fake_clock.h"
#include "lib/base/eventually.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kSecret[] = "0123456789abcdef";

class TargetSenderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(chmod(directory_.Write("secret", kSecret).c_str(), 0600), 0);
    queue_ = NotificationQueue::Open(directory_.path()).value();
    ASSERT_TRUE(queue_->SetTargets({"a"}, 0).ok());
  }

  void Queue(const std::vector<std::string>& keys) {
    QueueAddition addition;
    for (const std::string& key : keys) {
      addition.rows.push_back({"a", key, R"({"event":")" + key + "\"}", clock_.WallNow(), 0});
    }
    ASSERT_TRUE(queue_->Add(addition, clock_.WallNow()).ok());
  }

  TargetSender& Start(milliseconds backoff = milliseconds(1)) {
    sender_.emplace(
        NotificationTarget{
            .name = "a", .url = "https://a/", .secret_file = directory_.File("secret")},
        *queue_, series_, clock_,
        SenderOptions{
            .backoff = {.initial = backoff, .max = backoff},
            .post = [this](const WebhookRequest& request, const auto&) { return post_(request); }});
    sender_->Start();
    return *sender_;
  }

  bool IsEmpty() { return queue_->StateOf("a")->queued == 0; }
  std::string Metrics() { return prometheus::TextSerializer().Serialize(registry_.Collect()); }

  const TemporaryDirectory directory_;
  FakeClock clock_;
  prometheus::Registry registry_;
  NotificationSeries series_{registry_};
  FakePost post_;
  std::unique_ptr<NotificationQueue> queue_;
  std::optional<TargetSender> sender_;
};

TEST_F(TargetSenderTest, SendsWhatIsQueuedInOrderAndSigned) {
  Queue({"k1", "k2"});
  const TargetSender& sender = Start();
  ASSERT_TRUE(Eventually([&] { return IsEmpty() && sender.state().sent == 2; }));
  EXPECT_THAT(post_.keys(), ElementsAre("k1", "k2"));
  const int64_t now =
      std::chrono::floor<std::chrono::seconds>(clock_.WallNow()).time_since_epoch().count();
  EXPECT_THAT(post_.requests()[0].headers,
              ElementsAre("Idempotency-Key: k1", "X-Gp-Timestamp: " + std::to_string(now),
                          "X-Gp-Signature: " + SignatureOf(kSecret, now, R"({"event":"k1"})")));
  EXPECT_THAT(Metrics(), HasSubstr("gp_coordinator_notifications_sent_total{target=\"a\"} 2"));
}

TEST_F(TargetSenderTest, SendsAgainUntilItIsAccepted) {
  int left = 3;
  post_.SetAnswer([&left](const WebhookRequest&) -> StatusOr<WebhookReply> {
    if (left-- > 0) return WebhookReply{503, "busy"};
    return WebhookReply{204, ""};
  });
  Queue({"k1"});
  const TargetSender& sender = Start();
  ASSERT_TRUE(Eventually([&] { return IsEmpty() && sender.state().sent == 1; }));
  EXPECT_THAT(post_.keys(), ElementsAre("k1", "k1", "k1", "k1"));
  EXPECT_EQ(sender.state().failures_in_a_row, 0);
  EXPECT_EQ(sender.state().last_error, "the receiver answered 503: busy");
  EXPECT_THAT(Metrics(), HasSubstr("gp_coordinator_notification_failures_total{target=\"a\"} 3"));
}

TEST_F(TargetSenderTest, OneThatIsAlwaysRefusedDoesNotHoldUpTheOthers) {
  post_.SetAnswer([](const WebhookRequest& request) -> StatusOr<WebhookReply> {
    return WebhookReply{request.body.find("bad") == std::string::npos ? 200 : 400, ""};
  });
  Queue({"bad", "k1", "k2"});
  const TargetSender& sender = Start();
  ASSERT_TRUE(Eventually([&] { return sender.state().sent == 2; }));
  EXPECT_EQ(queue_->Next("a").value()->key, "bad");
}

TEST_F(TargetSenderTest, AnErrorOfTheQueueAfterASendNeitherRepeatsNorLosesAnything) {
  auto other = SqliteConnection::Open(directory_.File("notifications.db"), SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(other.ok()) << other.status();
  ASSERT_TRUE(other
                  ->Execute("CREATE TRIGGER full BEFORE DELETE ON queue "
                            "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
                  .ok());
  Queue({"k1", "k2"});
  const TargetSender& sender = Start();
  ASSERT_TRUE(Eventually([&] { return sender.state().failures_in_a_row > 3; }));
  EXPECT_THAT(post_.keys(), ElementsAre("k1")) << "it was accepted, so it is not sent again";
  EXPECT_THAT(sender.state().last_error, HasSubstr("the disk is full"));
  EXPECT_EQ(sender.state().sent, 0);
  ASSERT_TRUE(other->Execute("DROP TRIGGER full").ok());
  ASSERT_TRUE(Eventually([&] { return IsEmpty() && sender.state().sent == 2; }));
  EXPECT_THAT(post_.keys(), ElementsAre("k1", "k2"));
  EXPECT_EQ(sender.state().failures_in_a_row, 0);
}

TEST_F(TargetSenderTest, WaitsAfterAFailure) {
  post_.SetAnswer([](const WebhookRequest&) { return Unavailable("nobody is there"); });
  Queue({"k1"});
  const TargetSender& sender = Start(std::chrono::hours(1));
  ASSERT_TRUE(Eventually([&] { return sender.state().failures_in_a_row == 1; }));
  sender_->Wake();
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(post_.keys().size(), 1u);
  EXPECT_EQ(sender.state().last_error, "nobody is there");
}

TEST_F(TargetSenderTest, ATestIsSentAtOnceAlsoDuringTheWait) {
  post_.SetAnswer([](const WebhookRequest&) -> StatusOr<WebhookReply> {
    return WebhookReply{302, "over there"};
  });
  Queue({"k1"});
  TargetSender& sender = Start(std::chrono::hours(1));
  ASSERT_TRUE(Eventually([&] { return sender.state().failures_in_a_row == 1; }));
  std::promise<StatusOr<WebhookReply>> tested;
  sender.Test(MakeTestNotification("x", clock_.WallNow()),
              [&](const StatusOr<WebhookReply>& reply) { tested.set_value(reply); });
  EXPECT_EQ(tested.get_future().get()->status, 302);
  EXPECT_THAT(post_.keys(), ElementsAre("k1", "test-x"));
  EXPECT_THAT(sender.state().last_error, HasSubstr("a redirect, which is not followed"));
}

TEST_F(TargetSenderTest, ASecretThatIsGoneIsAnErrorWithoutARequest) {
  ASSERT_EQ(unlink(directory_.File("secret").c_str()), 0);
  Queue({"k1"});
  const TargetSender& sender = Start(std::chrono::hours(1));
  ASSERT_TRUE(Eventually([&] { return sender.state().failures_in_a_row == 1; }));
  EXPECT_THAT(sender.state().last_error, HasSubstr("secret_file: "));
  EXPECT_TRUE(post_.requests().empty());
}

TEST_F(TargetSenderTest, ATestAfterTheStopIsRefused) {
  TargetSender& sender = Start();
  sender.Stop();
  Status answer;
  sender.Test({}, [&](const StatusOr<WebhookReply>& reply) { answer = reply.status(); });
  EXPECT_EQ(answer.code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace gp::coordinator
