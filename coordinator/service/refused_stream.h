// A stream that fails at once with an error. Thread-safe.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "rpc/status.h"

namespace gp::coordinator {

inline grpc::ServerWriteReactor<grpc::ByteBuffer>* RefusedStream(const Status& status) {
  class Refusal final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
   public:
    explicit Refusal(const Status& why) { this->Finish(rpc::ToGrpc(why)); }
    void OnDone() override { delete this; }
  };
  return new Refusal(status);
}

}  // namespace gp::coordinator
