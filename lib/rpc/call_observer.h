// CallObserver: a server interceptor that reports every finished RPC to one function.
#pragma once

#include <grpcpp/support/server_interceptor.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <string>

namespace gp::rpc {

// Service and method are "unknown" when the call ended with UNIMPLEMENTED: the client may have made
// the names up, and metrics must not grow with them.
struct EndedCall {
  std::string service;  // "gp.v1.RunService"
  std::string method;   // "Submit"
  bool streams = false;
  grpc::StatusCode code = grpc::StatusCode::OK;  // CANCELLED if the client left early
  double seconds = 0;
};

// Called from gRPC's threads, possibly concurrently; must not wait.
using OnCallEnded = std::function<void(const EndedCall&)>;

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeCallObserver(
    OnCallEnded on_ended);

// "OK", "NotFound", ...: the label that other gRPC servers' metrics have.
std::string CodeLabel(grpc::StatusCode code);

}  // namespace gp::rpc
