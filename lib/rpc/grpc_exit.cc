#include "rpc/grpc_exit.h"

#include <grpc/grpc.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "security/openssl.h"

namespace gp::rpc {
namespace {

constexpr std::chrono::seconds kEndMax(1);

// gRPC ends its threads when its last user is gone. Channels that were just destroyed may still be
// closing on one of these threads.
void EndGrpc() {
  const auto deadline = std::chrono::steady_clock::now() + kEndMax;
  do {
    grpc_init();
    grpc_shutdown_blocking();
    if (grpc_is_initialized() == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (std::chrono::steady_clock::now() < deadline);
}

}  // namespace

void EndGrpcAtExit() {
  static std::once_flag once;
  std::call_once(once, [] {
    security::RegisterOpensslExit();
    std::atexit(EndGrpc);
  });
}

}  // namespace gp::rpc
