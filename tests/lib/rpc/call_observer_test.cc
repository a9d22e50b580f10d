#include "rpc/call_observer.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include "base/mutex.h"
#include "gp/v1/run_service.grpc.pb.h"
#include "rpc/server.h"

namespace gp::rpc {
namespace {

class OneAnswer final : public v1::RunService::Service {
  grpc::Status Version(grpc::ServerContext*, const v1::VersionRequest*,
                       v1::VersionResponse*) override {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "no version");
  }
};

class CallObserverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = RpcServer::Start({.on_call_ended =
                                        [this](const EndedCall& call) {
                                          MutexLock lock(mutex_);
                                          calls_.push_back(call);
                                        }},
                                   {&service_});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // Stops the server; returns every call that ended.
  std::vector<EndedCall> Calls() {
    server_.reset();
    MutexLock lock(mutex_);
    return calls_;
  }

  OneAnswer service_;
  std::unique_ptr<RpcServer> server_;
  Mutex mutex_;
  std::vector<EndedCall> calls_ GUARDED_BY(mutex_);
};

TEST_F(CallObserverTest, TellsMethodCodeAndTime) {
  auto stub = v1::RunService::NewStub(server_->ChannelToItself());
  grpc::ClientContext context;
  v1::VersionResponse response;
  EXPECT_FALSE(stub->Version(&context, {}, &response).ok());
  const std::vector<EndedCall> calls = Calls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].service, "gp.v1.RunService");
  EXPECT_EQ(calls[0].method, "Version");
  EXPECT_EQ(calls[0].code, grpc::StatusCode::NOT_FOUND);
  EXPECT_FALSE(calls[0].streams);
  EXPECT_GE(calls[0].seconds, 0);
}

// Otherwise a stranger could create any number of metric series.
TEST_F(CallObserverTest, TheNameOfAMethodThatNoServiceHasIsNotTold) {
  grpc::TemplatedGenericStub<v1::VersionRequest, v1::VersionResponse> stub(
      server_->ChannelToItself());
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  auto call = stub.PrepareUnaryCall(&context, "/made.Up/Name", {}, &queue);
  call->StartCall();
  v1::VersionResponse response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  const std::vector<EndedCall> calls = Calls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].service, "unknown");
  EXPECT_EQ(calls[0].method, "unknown");
  EXPECT_EQ(calls[0].code, grpc::StatusCode::UNIMPLEMENTED);
}

TEST(CodeLabel, IsThatOfOtherServers) {
  EXPECT_EQ(CodeLabel(grpc::StatusCode::OK), "OK");
  EXPECT_EQ(CodeLabel(grpc::StatusCode::NOT_FOUND), "NotFound");
  EXPECT_EQ(CodeLabel(grpc::StatusCode::UNAUTHENTICATED), "Unauthenticated");
}

}  // namespace
}  // namespace gp::rpc
