// AnswerHeader: server information in the header of each answer, as gRPC metadata. A client
// computes ages with the server's clock, because the times in answers come from it. A value; the
// functions are thread-safe.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/server_interceptor.h>

#include <functional>
#include <memory>
#include <optional>

#include "base/clock.h"

namespace gp::rpc {

struct AnswerHeader {
  std::optional<WallTime> now;  // the server's clock; absent: an older server
  bool insecure = false;        // the server also listens without TLS
};

// Called from gRPC's threads for each answer; must not wait.
using DescribeServer = std::function<AnswerHeader()>;

// An interceptor of a server that puts what `describe` returns into each answer's header.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeHeaderWriter(
    DescribeServer describe);

// REQUIRES: the call succeeded, or its first message was read.
AnswerHeader ReadAnswerHeader(const grpc::ClientContext& context);

}  // namespace gp::rpc
