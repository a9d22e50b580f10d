// EnrollmentService: the gRPC service for machines that become nodes, and for who takes that back.
// Its work runs in the access lane, because what it gives is durable before it is answered.
// Thread-safe.
#pragma once

#include "coordinator/access/access_gate.h"
#include "coordinator/access/enrollment.h"
#include "coordinator/control/change_hub.h"
#include "coordinator/control/reconciler.h"
#include "coordinator/service/pooled_call.h"
#include "coordinator/service/work_lanes.h"
#include "gp/v1/enrollment_service.grpc.pb.h"

namespace gp::coordinator {

// The service with every method as bytes.
using EnrollmentServiceOfBytes = v1::EnrollmentService::WithRawCallbackMethod_Join<
    v1::EnrollmentService::WithRawCallbackMethod_Renew<
        v1::EnrollmentService::WithRawCallbackMethod_RevokeNode<v1::EnrollmentService::Service>>>;

class EnrollmentService final : public EnrollmentServiceOfBytes {
 public:
  // Every reference outlives the service. `enrollment` is null when the coordinator serves nobody
  // over TLS.
  EnrollmentService(AccessGate& gate, Enrollment* enrollment, const NodeRegistry& nodes,
                    const Reconciler& reconciler, ChangeHub& hub, WorkLanes& lanes)
      : gate_(gate),
        enrollment_(enrollment),
        nodes_(nodes),
        reconciler_(reconciler),
        hub_(hub),
        lanes_(lanes) {}

  grpc::ServerUnaryReactor* Join(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Renew(grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* RevokeNode(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;

 private:
  Handling HandlingOf(std::string_view method);
  StatusOr<Enrollment*> Enrolling() const;
  Status FillJoined(AdmittedCall& access, const v1::JoinRequest& request,
                    v1::NodeCertificate& response);
  Status FillRenewed(AdmittedCall& access, const v1::RenewRequest& request,
                     v1::NodeCertificate& response);
  Status Revoke(AdmittedCall& access, const v1::RevokeNodeRequest& request);

  AccessGate& gate_;
  Enrollment* const enrollment_;
  const NodeRegistry& nodes_;
  const Reconciler& reconciler_;
  ChangeHub& hub_;
  WorkLanes& lanes_;
};

}  // namespace gp::coordinator
