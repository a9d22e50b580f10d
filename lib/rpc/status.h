// The one map between gp::Status and grpc::Status. The codes of both are equal by definition;
// messages are cut to a size that fits into HTTP/2 trailers; a reason goes along
// (gp/v1/error.proto). Pure functions; thread-safe.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "base/status.h"

namespace gp::rpc {

grpc::Status ToGrpc(const Status& status);
Status FromGrpc(const grpc::Status& status);

// NotFound for a run that existed.
inline constexpr char kRunDeleted[] = "RUN_DELETED";

// The status with a reason that programs may test for, where its code says too little. WithContext
// drops it.
Status WithReason(Status status, const std::string& reason);
// Empty if it has none.
std::string ReasonOf(const Status& status);

}  // namespace gp::rpc
