// Targets of a real gp-coordinator: what it lists, and tests of a receiver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "coordinator/coordinator_fixture.h"
#include "coordinator/notifications/receiver.h"
#include "gp/v1/notification_service.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;

class NotificationServiceTest : public CoordinatorFixture {
 protected:
  void SetUp() override {}

  void StartWith(const std::string& targets) {
    ASSERT_EQ(chmod(directory_.Write("secret", "0123456789abcdef").c_str(), 0600), 0);
    if (!targets.empty()) {
      const std::string file = directory_.Write("targets.yaml", "targets:\n" + targets);
      process_.SetFlags(
          {"--config",
           directory_.Write("coordinator.yaml", "notifications: {targets_file: " + file + "}\n")});
    }
    CoordinatorFixture::SetUp();
    notifications_ = v1::NotificationService::NewStub(rpc::MakeChannel(process_.address()));
  }

  v1::ListNotificationTargetsResponse List() {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::ListNotificationTargetsResponse response;
    EXPECT_TRUE(notifications_->ListNotificationTargets(&context, {}, &response).ok());
    return response;
  }
  StatusOr<v1::TestNotificationTargetResponse> Test(const std::string& target) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::TestNotificationTargetRequest request;
    request.set_target(target);
    v1::TestNotificationTargetResponse response;
    RETURN_IF_ERROR(
        rpc::FromGrpc(notifications_->TestNotificationTarget(&context, request, &response)));
    return response;
  }

  std::unique_ptr<v1::NotificationService::Stub> notifications_;
};

TEST_F(NotificationServiceTest, ATestGivesTheAnswerOfTheReceiver) {
  const Receiver receiver(Receiver::Always("418 Teapot", "short and stout"));
  StartWith("  - {name: ops, url: '" + receiver.url() +
            "', secret_file: secret, events: [failed], allow_private_addresses: true}\n");
  const auto tested = Test("ops");
  ASSERT_TRUE(tested.ok()) << tested.status();
  EXPECT_FALSE(tested->accepted());
  EXPECT_EQ(tested->status(), 418);
  EXPECT_EQ(tested->answer(), "short and stout");
  EXPECT_THAT(receiver.requests().at(0), HasSubstr(R"("event":"test")"));
  EXPECT_EQ(Test("opps").status().code(), StatusCode::kNotFound);
}

TEST_F(NotificationServiceTest, ListsTargetsWithWhatWaitsForThem) {
  StartWith(
      "  - {name: ops, url: 'https://127.0.0.1:1/s3cret', secret_file: secret, events: [failed]}\n"
      "  - {name: none, url: 'https://127.0.0.1:1/s3cret', secret_file: secret, namespaces: "
      "[x]}\n");
  const v1::ListNotificationTargetsResponse listed = List();
  ASSERT_EQ(listed.targets_size(), 2);
  EXPECT_EQ(listed.targets(0).name(), "ops");
  EXPECT_EQ(listed.targets(0).kind(), "webhook");
  EXPECT_EQ(listed.targets(0).events(0), "failed");
  EXPECT_EQ(listed.targets(0).queued(), 0);
  EXPECT_EQ(listed.targets(1).namespaces(0), "x");
  EXPECT_EQ(listed.DebugString().find("s3cret"), std::string::npos);
}

TEST_F(NotificationServiceTest, WithoutTargetsATestSaysHowToConfigureThem) {
  StartWith("");
  EXPECT_EQ(List().targets_size(), 0);
  const Status refused = Test("ops").status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused), HasSubstr("notifications.targets_file"));
}

TEST_F(NotificationServiceTest, ABadFileOfTargetsIsReportedAtTheStart) {
  const std::string file = directory_.Write("targets.yaml", "targets: [{name: ops}]\n");
  process_.SetFlags(
      {"--config",
       directory_.Write("coordinator.yaml", "notifications: {targets_file: " + file + "}\n")});
  std::string said;
  EXPECT_EQ(process_.RunToEnd(said), 2);
  EXPECT_THAT(said, HasSubstr(file + ":1:11: a target needs either url, or url_file"));
}

}  // namespace
}  // namespace gp::coordinator
