// EnrollmentService: the gRPC service for machines that become nodes, and for operators who revoke
// nodes. Certificates are recorded durably before the answer. Thread-safe.
#pragma once

#include "coordinator/access/enrollment.h"
#include "coordinator/control/change_hub.h"
#include "coordinator/control/reconciler.h"
#include "coordinator/service/method_service.h"
#include "gp/v1/enrollment_service.grpc.pb.h"

namespace gp::coordinator {

class EnrollmentService final : public MethodService<v1::EnrollmentService> {
 public:
  // Every reference must outlive this object. `enrollment` is null if the coordinator does not
  // serve TLS.
  EnrollmentService(const ServiceContext& context, Enrollment* enrollment,
                    const NodeRegistry& nodes, const Reconciler& reconciler);

 private:
  StatusOr<Enrollment*> Enrolling() const;
  Status FillJoined(AdmittedCall& access, const v1::JoinRequest& request,
                    v1::NodeCertificate& response);
  Status FillRenewed(AdmittedCall& access, const v1::RenewRequest& request,
                     v1::NodeCertificate& response);
  Status Revoke(AdmittedCall& access, const v1::RevokeNodeRequest& request);

  Enrollment* const enrollment_;
  const NodeRegistry& nodes_;
  const Reconciler& reconciler_;
  ChangeHub& hub_;
};

}  // namespace gp::coordinator
