#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/gpctl/gpctl_runner.h"
#include "client/loopback_server.h"
#include "gp/v1/notification_service.grpc.pb.h"

namespace gp::testing {
namespace {

using ::nlohmann::json;
using ::testing::HasSubstr;

class FakeNotificationService final : public v1::NotificationService::Service {
 public:
  grpc::Status ListNotificationTargets(grpc::ServerContext*,
                                       const v1::ListNotificationTargetsRequest*,
                                       v1::ListNotificationTargetsResponse* response) override {
    *response = listed;
    return grpc::Status::OK;
  }
  grpc::Status TestNotificationTarget(grpc::ServerContext*,
                                      const v1::TestNotificationTargetRequest* request,
                                      v1::TestNotificationTargetResponse* response) override {
    if (request->target() != "ops") return {grpc::StatusCode::NOT_FOUND, "there is no target"};
    *response = tested;
    return grpc::Status::OK;
  }

  // Set before a call.
  v1::ListNotificationTargetsResponse listed;
  v1::TestNotificationTargetResponse tested;
};

class NotifyCommand : public ::testing::Test {
 protected:
  NotifyCommand() { gpctl_.environment["GPCTL_SERVER"] = server_.address(); }

  FakeNotificationService service_;
  const LoopbackServer server_{service_};
  GpctlRunner gpctl_;
};

TEST_F(NotifyCommand, ListShowsTheQueueAndTheLastError) {
  v1::NotificationTarget& target = *service_.listed.add_targets();
  target.set_name("ops");
  target.set_kind("webhook");
  target.add_events("failed");
  target.add_events("stalled");
  target.set_runs("named");
  target.set_queued(3);
  target.mutable_oldest_at()->set_seconds(1'700'000'000);
  target.set_dropped(2);
  target.set_last_error("the receiver answered 500\x1b[31m");
  target.mutable_last_error_at()->set_seconds(1'700'000'000);
  const std::string table = gpctl_.Run({"notify", "list"}).out;
  EXPECT_THAT(table, HasSubstr("failed, stalled"));
  EXPECT_THAT(table, HasSubstr(" ago: the receiver answered 500\uFFFD[31m"));
  const json item = json::parse(gpctl_.Run({"notify", "list", "-o", "json"}).out)["items"][0];
  EXPECT_EQ(item["queued"], 3);
  EXPECT_EQ(item["dropped"], 2);
  EXPECT_EQ(item["events"], json({"failed", "stalled"}));
  EXPECT_EQ(item["namespaces"], json::array());
  EXPECT_EQ(item["runs"], "named");
  EXPECT_EQ(item["oldest_at"], "2023-11-14T22:13:20Z");
}

TEST_F(NotifyCommand, AnEmptyListSaysHowToConfigureTargets) {
  EXPECT_THAT(gpctl_.Run({"notify", "list"}).err, HasSubstr("notifications.targets_file"));
}

TEST_F(NotifyCommand, TestPrintsTheAnswerAndFailsIfItIsNotAccepted) {
  service_.tested.set_accepted(true);
  service_.tested.set_status(200);
  service_.tested.set_answer("thanks");
  const auto accepted = gpctl_.Run({"notify", "test", "ops"});
  EXPECT_EQ(accepted.out, "ops: the receiver accepted the test (200): thanks\n");
  EXPECT_EQ(accepted.code, 0);
  service_.tested.set_accepted(false);
  service_.tested.set_status(0);
  service_.tested.set_answer("hooks.example.com: no answer within 10 s");
  const auto unsent = gpctl_.Run({"notify", "test", "ops"});
  EXPECT_EQ(unsent.out, "ops: not sent: hooks.example.com: no answer within 10 s\n");
  EXPECT_EQ(unsent.code, 1);
  EXPECT_EQ(gpctl_.Run({"notify", "test", "opps"}).code, 3);
}

}  // namespace
}  // namespace gp::testing
