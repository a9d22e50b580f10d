#include "rpc/server.h"

#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include "gp/v1/run_service.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace gp::rpc {
namespace {

class VersionOnly final : public v1::RunService::Service {
  grpc::Status Version(grpc::ServerContext*, const v1::VersionRequest*,
                       v1::VersionResponse* response) override {
    response->set_version("test");
    return grpc::Status::OK;
  }
};

Status CallVersion(const std::string& address, std::string* version) {
  auto stub = v1::RunService::NewStub(MakeChannel(address));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::VersionResponse response;
  const Status status = FromGrpc(stub->Version(&context, {}, &response));
  *version = response.version();
  return status;
}

TEST(RpcServer, ServesOnAFreePortAndTellsIt) {
  VersionOnly service;
  auto server = RpcServer::Start({}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_NE((*server)->address(), "127.0.0.1:0");
  std::string version;
  EXPECT_TRUE(CallVersion((*server)->address(), &version).ok());
  EXPECT_EQ(version, "test");
}

TEST(RpcServer, APortInUseIsNamed) {
  VersionOnly service;
  auto first = RpcServer::Start({}, {&service});
  ASSERT_TRUE(first.ok());
  VersionOnly other;
  const auto second = RpcServer::Start({.listen = (*first)->address()}, {&other});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyExists);
  EXPECT_NE(Message(second.status()).find((*first)->address()), std::string::npos);
}

TEST(RpcServer, ShutdownFreesThePort) {
  VersionOnly service;
  auto first = RpcServer::Start({}, {&service});
  ASSERT_TRUE(first.ok());
  const std::string address = (*first)->address();
  (*first)->Shutdown(std::chrono::seconds(1));
  VersionOnly other;
  EXPECT_TRUE(RpcServer::Start({.listen = address}, {&other}).ok());
}

}  // namespace
}  // namespace gp::rpc
