#include "coordinator/service/enrollment_service.h"

#include "base/text/excerpt.h"
#include "rpc/token.h"

namespace gp::coordinator {
namespace {

// Describes the join in the audit log. Names only the id of the token, never its secret.
std::string JoinTarget(const v1::JoinRequest& request) {
  const auto token = rpc::ParseToken(request.token());
  const std::string with = token.ok() ? " with the join token " + token->id : "";
  return "node " + Excerpt(request.node_id()) + with;
}

}  // namespace

EnrollmentService::EnrollmentService(const ServiceContext& context, Enrollment* enrollment,
                                     const NodeRegistry& nodes, const Reconciler& reconciler)
    : MethodService(context),
      enrollment_(enrollment),
      nodes_(nodes),
      reconciler_(reconciler),
      hub_(context.hub) {
  OnQuery<v1::JoinRequest, v1::NodeCertificate>(
      "Join", [this](AdmittedCall& access, const auto& request, auto& response) {
        return FillJoined(access, request, response);
      });
  OnQuery<v1::RenewRequest, v1::NodeCertificate>(
      "Renew", [this](AdmittedCall& access, const auto& request, auto& response) {
        return FillRenewed(access, request, response);
      });
  OnQuery<v1::RevokeNodeRequest, v1::RevokeNodeResponse>(
      "RevokeNode",
      [this](AdmittedCall& access, const auto& request, auto&) { return Revoke(access, request); });
}

StatusOr<Enrollment*> EnrollmentService::Enrolling() const {
  if (enrollment_ != nullptr) return enrollment_;
  return FailedPrecondition(
      "this coordinator does not issue certificates: it does not serve TLS; start it with --listen "
      "and "
      "without --insecure");
}

Status EnrollmentService::FillJoined(AdmittedCall& access, const v1::JoinRequest& request,
                                     v1::NodeCertificate& response) {
  access.Describe(JoinTarget(request));
  ASSIGN_OR_RETURN(Enrollment * enrollment, Enrolling());
  ASSIGN_OR_RETURN(*response.mutable_certificate(),
                   enrollment->Join(request.token(), request.node_id(), request.request()));
  return OkStatus();
}

Status EnrollmentService::FillRenewed(AdmittedCall& access, const v1::RenewRequest& request,
                                      v1::NodeCertificate& response) {
  const Principal& principal = access.principal();
  if (principal.kind != Principal::Kind::kNode) {
    return access.Deny(principal.Text() + " has no node certificate that could be renewed");
  }
  access.Describe("node " + principal.name);
  ASSIGN_OR_RETURN(Enrollment * enrollment, Enrolling());
  ASSIGN_OR_RETURN(*response.mutable_certificate(),
                   enrollment->Renew(principal.name, principal.node_lifetime, request.request()));
  return OkStatus();
}

Status EnrollmentService::Revoke(AdmittedCall& access, const v1::RevokeNodeRequest& request) {
  access.Describe("node " + Excerpt(request.node_id()), request.request_id());
  ASSIGN_OR_RETURN(Enrollment * enrollment, Enrolling());
  const NodeId node(request.node_id());
  if (!nodes_.Knows(request.node_id()) && reconciler_.snapshot()->FindNode(node) == nullptr) {
    return NotFound("no node has the id '{}'; 'gpctl workers list -o json' shows the ids",
                    Excerpt(request.node_id()));
  }
  RETURN_IF_ERROR(enrollment->Revoke(request.node_id()));
  hub_.Notify(node);  // its stream checks whether it may continue
  return OkStatus();
}

}  // namespace gp::coordinator
