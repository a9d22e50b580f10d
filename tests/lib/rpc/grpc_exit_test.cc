#include "rpc/grpc_exit.h"

#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "gp/v1/run_service.grpc.pb.h"
#include "lib/rpc/test_certificates.h"
#include "rpc/channel.h"
#include "rpc/server.h"

namespace gp::rpc {
namespace {

using namespace std::chrono_literals;

// Threads of this process, without the one in which gRPC may have ended the others.
int Threads() {
  int threads = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const auto name = ReadFile(task.path() / "comm");
    if (name.ok() && !name->starts_with("grpc_shutdown")) ++threads;
  }
  return threads;
}

// Asks a server over TLS, ends both, and exits. The exit status is 0 when no other thread is left
// as soon as the exit handlers of this library have run.
[[noreturn]] void AskAndExit() {
  std::atexit([] { std::_Exit(Threads() == 1 ? 0 : 1); });
  {
    const TestCertificates certificates;
    v1::RunService::Service service;
    auto server = RpcServer::Start(
        {.endpoints = {{.address = "127.0.0.1:0", .tls = certificates.Server()}}}, {&service});
    if (!server.ok()) std::_Exit(2);
    const auto stub = v1::RunService::NewStub(
        MakeChannel((*server)->address(), {.tls = certificates.Anonymous()}));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 30s);
    v1::VersionResponse response;
    if (stub->Version(&context, {}, &response).error_code() != grpc::StatusCode::UNIMPLEMENTED) {
      std::_Exit(3);
    }
  }
  std::exit(4);
}

TEST(GrpcExitDeathTest, NoThreadOfGrpcIsLeftAtExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(AskAndExit(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gp::rpc
