// NodeService: the gRPC service for operators who take nodes out of use and bring them back.
// Thread-safe. Its first step runs in the lane of queries; the Reconciler answers.
#pragma once

#include <string>

#include "coordinator/access/access_gate.h"
#include "coordinator/control/reconciler.h"
#include "coordinator/service/pooled_call.h"
#include "coordinator/service/work_lanes.h"
#include "gp/v1/node_service.grpc.pb.h"

namespace gp::coordinator {

// The service with every method as bytes.
using NodeServiceOfBytes =
    v1::NodeService::WithRawCallbackMethod_Cordon<v1::NodeService::WithRawCallbackMethod_Drain<
        v1::NodeService::WithRawCallbackMethod_Uncordon<v1::NodeService::Service>>>;

class NodeService final : public NodeServiceOfBytes {
 public:
  // Every reference outlives the service.
  NodeService(AccessGate& gate, Reconciler& reconciler, WorkLanes& lanes)
      : gate_(gate), reconciler_(reconciler), lanes_(lanes) {}

  grpc::ServerUnaryReactor* Cordon(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Uncordon(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;

 private:
  // Answers with the node once what `make_body` returns for it is durable.
  template <typename Request, typename MakeBody>
  grpc::ServerUnaryReactor* Change(std::string_view method, grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response,
                                   MakeBody make_body);

  AccessGate& gate_;
  Reconciler& reconciler_;
  WorkLanes& lanes_;
};

}  // namespace gp::coordinator
