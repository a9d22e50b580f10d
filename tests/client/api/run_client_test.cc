// Goal: a broken stream resumes where it stopped, without repeats or losses.
#include "client/api/run_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <utility>
#include <vector>

#include "client/api/access_client.h"
#include "client/fake_run_service.h"
#include "lib/rpc/spoiled_connect.h"
#include "rpc/server.h"

namespace gp::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using Numbers = std::vector<int64_t>;

class RunClientTest : public ::testing::Test {
 protected:
  RunClientTest() {
    service_.SetWatch({MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED)});  // so streams end
    for (int i = 1; i <= 4; ++i) {
      service_.AddLine("line");
      v1::MetricPoint point;
      point.set_step(i * 10);
      service_.AddPoint(point);
    }
    service_.BreakStreamAfter(2);
  }

  FakeRunService service_;
  client::Interruption interruption_;
  client::RunClient client_{{.address = service_.address()}, interruption_};
};

TEST_F(RunClientTest, LogsGoOnBehindTheLineThatCameLast) {
  v1::LogsRequest request;
  request.set_rank(-1);
  request.set_tail(3);
  Numbers sequences;
  const Status status = client_.Logs(request, [&](const v1::LogLine& line) {
    sequences.push_back(static_cast<int64_t>(line.sequence()));
    return true;
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(sequences, ElementsAre(2, 3, 4));
  EXPECT_EQ(service_.last_logs().after_sequence(), 3u);
  EXPECT_EQ(service_.last_logs().tail(), 0) << "of what came meanwhile every line is wanted";
}

TEST_F(RunClientTest, MetricsGoOnBehindTheStepThatCameLast) {
  Numbers steps;
  const Status status = client_.Metrics({}, [&](const v1::MetricPoint& point) {
    steps.push_back(point.step());
    return true;
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(steps, ElementsAre(10, 20, 30, 40));
}

TEST_F(RunClientTest, MetricsOfAnOlderCoordinatorComeOneByOne) {
  service_.SetWithoutPoints();
  Numbers steps;
  const Status status = client_.Metrics({}, [&](const v1::MetricPoint& point) {
    steps.push_back(point.step());
    return true;
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(steps, ElementsAre(10, 20, 30, 40));
}

v1::MetricPoint PointOf(uint64_t epoch, int64_t step) {
  v1::MetricPoint point;
  point.set_epoch(epoch);
  point.set_step(step);
  return point;
}

TEST(RunClientStreams, MetricsHaveTheStepsThatARestartRepeatedDuringTheOutage) {
  FakeRunService service;
  service.SetWatch({MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED)});  // streams end
  for (const int64_t step : {10, 20, 30}) service.AddPoint(PointOf(1, step));
  service.BreakStreamAfter(2);
  client::Interruption interruption;
  client::RunClient client({.address = service.address()}, interruption);
  std::vector<std::pair<uint64_t, int64_t>> seen;
  const Status status = client.Metrics({}, [&](const v1::MetricPoint& point) {
    seen.emplace_back(point.epoch(), point.step());
    if (seen.size() == 2) {  // before the break
      for (const int64_t step : {10, 20, 30}) service.AddPoint(PointOf(2, step));
    }
    return true;
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(seen, ElementsAre(Pair(1, 10), Pair(1, 20), Pair(1, 30), Pair(2, 10), Pair(2, 20),
                                Pair(2, 30)));
}

TEST_F(RunClientTest, AConsumerThatHasEnoughEndsItsStream) {
  int seen = 0;
  const Status status = client_.Metrics({}, [&](const v1::MetricPoint&) { return ++seen < 2; });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(seen, 2);
}

// A RunService for TCP, where connecting takes time. FakeRunService uses a Unix socket, where
// connections exist at once.
class VersionService final : public v1::RunService::Service {
  grpc::Status Version(grpc::ServerContext*, const v1::VersionRequest*,
                       v1::VersionResponse*) override {
    return grpc::Status::OK;
  }
};

// gRPC 1.51 may report a connection in progress as failed (tests/lib/rpc/connected_channel.h).
TEST(Clients, ConnectAgainWhenTheFirstConnectionFails) {
  VersionService service;
  const auto server = rpc::RpcServer::Start({}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  client::Interruption interruption;
  const client::RunClientOptions options{.address = (*server)->address()};
  rpc::SpoilConnects(1);
  const Status call = client::RunClient(options, interruption).Version().status();
  EXPECT_TRUE(call.ok()) << call;
  rpc::SpoilConnects(1);
  const Status stream =
      client::RunClient(options, interruption).Metrics({}, [](const auto&) { return true; });
  EXPECT_EQ(stream.code(), StatusCode::kUnimplemented) << stream;  // the server's answer
  rpc::SpoilConnects(1);
  const Status once = client::AccessClient(options, interruption).WhoAmI().status();
  EXPECT_THAT(Message(once), ::testing::HasSubstr("is older than this gpctl")) << once;
  rpc::SpoilConnects(1);
  const Status audit =
      client::AccessClient(options, interruption).Audit(0, [](const auto&) { return true; });
  EXPECT_THAT(Message(audit), ::testing::HasSubstr("is older than this gpctl")) << audit;
  EXPECT_EQ(rpc::ConnectsToSpoil(), 0);
}

// Revokes nodes, but loses its first answer.
class ForgetfulEnrollment final : public v1::EnrollmentService::Service {
 public:
  int calls() const { return calls_; }

 private:
  grpc::Status RevokeNode(grpc::ServerContext*, const v1::RevokeNodeRequest*,
                          v1::RevokeNodeResponse*) override {
    if (++calls_ > 1) return grpc::Status::OK;
    return {grpc::StatusCode::UNAVAILABLE, "the connection broke"};
  }
  std::atomic<int> calls_{0};
};

TEST(RevokeNode, IsNotRepeatedAfterALostAnswerBecauseTheNodeMayHaveJoinedAgain) {
  ForgetfulEnrollment service;
  const auto server = rpc::RpcServer::Start({}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  client::Interruption interruption;
  client::RunClient client({.address = (*server)->address()}, interruption);
  const Status lost = client.RevokeNode("n1");
  EXPECT_EQ(lost.code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(lost), ::testing::HasSubstr("did not say whether it revoked node n1"));
  EXPECT_EQ(service.calls(), 1);
  EXPECT_TRUE(client.RevokeNode("n1").ok()) << "a deliberate repetition";
}

}  // namespace
}  // namespace gp::testing
