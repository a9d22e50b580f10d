#include "rpc/answer_header.h"

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "gp/v1/run_service.grpc.pb.h"
#include "rpc/server.h"

namespace gp::rpc {
namespace {

class TwoAnswers final : public v1::RunService::Service {
  grpc::Status Version(grpc::ServerContext*, const v1::VersionRequest*,
                       v1::VersionResponse*) override {
    return grpc::Status::OK;
  }
  grpc::Status Watch(grpc::ServerContext*, const v1::WatchRequest*,
                     grpc::ServerWriter<v1::WatchResponse>* writer) override {
    writer->Write({});
    return grpc::Status::OK;
  }
};

class AnswerHeaderTest : public ::testing::Test {
 protected:
  void Serve(DescribeServer describe) {
    auto server = RpcServer::Start({.describe = std::move(describe)}, {&service_});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = v1::RunService::NewStub(server_->ChannelToItself());
  }

  AnswerHeader OfVersion() {
    grpc::ClientContext context;
    v1::VersionResponse response;
    EXPECT_TRUE(stub_->Version(&context, {}, &response).ok());
    return ReadAnswerHeader(context);
  }

  AnswerHeader OfWatch() {
    grpc::ClientContext context;
    const auto reader = stub_->Watch(&context, {});
    v1::WatchResponse response;
    EXPECT_TRUE(reader->Read(&response));
    return ReadAnswerHeader(context);
  }

  TwoAnswers service_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::RunService::Stub> stub_;
};

TEST_F(AnswerHeaderTest, TellsTheServersTimeOfEachAnswer) {
  FakeClock clock;
  Serve([&clock] { return AnswerHeader{.now = clock.WallNow()}; });
  EXPECT_EQ(OfVersion().now, clock.WallNow());
  clock.Advance(std::chrono::microseconds(1'000'001));
  EXPECT_EQ(OfWatch().now, clock.WallNow());
  EXPECT_FALSE(OfWatch().insecure);
}

TEST_F(AnswerHeaderTest, TellsThatAPortIsServedWithoutTls) {
  Serve([] { return AnswerHeader{.insecure = true}; });
  EXPECT_TRUE(OfVersion().insecure);
  EXPECT_EQ(OfVersion().now, std::nullopt);
}

TEST_F(AnswerHeaderTest, OfAServerThatTellsNothingIsEmpty) {
  Serve(nullptr);
  EXPECT_EQ(OfVersion().now, std::nullopt);
  EXPECT_FALSE(OfVersion().insecure);
}

}  // namespace
}  // namespace gp::rpc
