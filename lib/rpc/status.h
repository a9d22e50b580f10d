// The one map between gp::Status and grpc::Status. The codes of both are equal by definition;
// messages are cut to a size that fits into HTTP/2 trailers. Pure functions; thread-safe.
#pragma once

#include <grpcpp/support/status.h>

#include "base/status.h"

namespace gp::rpc {

grpc::Status ToGrpc(const Status& status);
Status FromGrpc(const grpc::Status& status);

}  // namespace gp::rpc
