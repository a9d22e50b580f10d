#include "coordinator/service/enrollment_service.h"

#include "base/text/excerpt.h"
#include "rpc/token.h"

namespace gp::coordinator {
namespace {

// A token and a certificate request take two kilobytes.
constexpr size_t kEnrollmentBytesMax = 64 << 10;

// The join in the audit log; of the token its id alone.
std::string JoinTarget(const v1::JoinRequest& request) {
  const auto token = rpc::ParseToken(request.token());
  const std::string with = token.ok() ? " with the join token " + token->id : "";
  return "node " + Excerpt(request.node_id()) + with;
}

}  // namespace

Handling EnrollmentService::HandlingOf(std::string_view method) {
  return {gate_, method, lanes_.access, kEnrollmentBytesMax};
}

StatusOr<Enrollment*> EnrollmentService::Enrolling() const {
  if (enrollment_ != nullptr) return enrollment_;
  return FailedPrecondition(
      "this coordinator gives no certificates: it does not serve TLS; start it with --listen and "
      "without --insecure");
}

grpc::ServerUnaryReactor* EnrollmentService::Join(grpc::CallbackServerContext* context,
                                                  const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  using Call = PooledCall<v1::JoinRequest, v1::NodeCertificate>;
  return Call::Start(HandlingOf("gp.v1.EnrollmentService/Join"), context, request, response,
                     [this](Call& call) {
                       call.Answer(FillJoined(call.access(), call.request(), call.response()));
                     });
}

Status EnrollmentService::FillJoined(AdmittedCall& access, const v1::JoinRequest& request,
                                     v1::NodeCertificate& response) {
  access.Describe(JoinTarget(request));
  ASSIGN_OR_RETURN(Enrollment * enrollment, Enrolling());
  ASSIGN_OR_RETURN(*response.mutable_certificate(),
                   enrollment->Join(request.token(), request.node_id(), request.request()));
  return OkStatus();
}

grpc::ServerUnaryReactor* EnrollmentService::Renew(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request,
                                                   grpc::ByteBuffer* response) {
  using Call = PooledCall<v1::RenewRequest, v1::NodeCertificate>;
  return Call::Start(HandlingOf("gp.v1.EnrollmentService/Renew"), context, request, response,
                     [this](Call& call) {
                       call.Answer(FillRenewed(call.access(), call.request(), call.response()));
                     });
}

Status EnrollmentService::FillRenewed(AdmittedCall& access, const v1::RenewRequest& request,
                                      v1::NodeCertificate& response) {
  const Principal& principal = access.principal();
  if (principal.kind != Principal::Kind::kNode) {
    return access.Deny(principal.Text() + " shows no certificate of a node that could be renewed");
  }
  access.Describe("node " + principal.name);
  ASSIGN_OR_RETURN(Enrollment * enrollment, Enrolling());
  ASSIGN_OR_RETURN(*response.mutable_certificate(),
                   enrollment->Renew(principal.name, principal.node_lifetime, request.request()));
  return OkStatus();
}

grpc::ServerUnaryReactor* EnrollmentService::RevokeNode(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request,
                                                        grpc::ByteBuffer* response) {
  using Call = PooledCall<v1::RevokeNodeRequest, v1::RevokeNodeResponse>;
  return Call::Start(HandlingOf("gp.v1.EnrollmentService/RevokeNode"), context, request, response,
                     [this](Call& call) { call.Answer(Revoke(call.access(), call.request())); });
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
  hub_.Notify(node);  // its stream looks whether it may go on
  return OkStatus();
}

}  // namespace gp::coordinator
