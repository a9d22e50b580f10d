// NodeService: the gRPC service for operators who take nodes out of use and bring them back.
// Thread-safe. The Reconciler answers.
#pragma once

#include "coordinator/control/reconciler.h"
#include "coordinator/service/method_service.h"
#include "gp/v1/node_service.grpc.pb.h"

namespace gp::coordinator {

class NodeService final : public MethodService<v1::NodeService> {
 public:
  // Every reference must outlive this object.
  NodeService(const ServiceContext& context, Reconciler& reconciler);

 private:
  // Stores the event with the body from `make_body`, then answers with the node.
  template <typename Request, typename MakeBody>
  void OnChange(const char* method, MakeBody make_body);

  Reconciler& reconciler_;
};

}  // namespace gp::coordinator
