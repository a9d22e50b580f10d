#include "coordinator/access/enrollment.h"

#include "base/log.h"
#include "security/node_name.h"

namespace gp::coordinator {

using security::CertificateRequest;

StatusOr<std::string> Enrollment::Issue(const CertificateRequest& request,
                                        const std::string& node_id) {
  ASSIGN_OR_RETURN(const auto certificate,
                   certificates_.IssueNode(request, node_id, nodes_.IssueTime(node_id)));
  const security::Lifetime lifetime = certificate.lifetime();
  RETURN_IF_ERROR(nodes_.Record(node_id, request.KeyDigest(), lifetime.end));
  LogInfo("issued a certificate to a node", {{"node", node_id},
                                             {"serial", certificate.Serial()},
                                             {"ends", security::TimeText(lifetime.end)}});
  return certificate.Pem();
}

StatusOr<std::string> Enrollment::Join(const std::string& token, const std::string& node_id,
                                       const std::string& request) {
  if (!security::IsNodeId(node_id)) {
    return InvalidArgument("a node's id has 1 to 64 letters, digits, '-' and '_'");
  }
  ASSIGN_OR_RETURN(const rpc::Token parsed, rpc::ParseToken(token));
  ASSIGN_OR_RETURN(const CertificateRequest read, CertificateRequest::FromPem(request));
  const std::string key = read.KeyDigest();
  MutexLock lock(mutex_);
  // Check the token first: a caller without a valid one must not learn which nodes exist.
  ASSIGN_OR_RETURN(const TokenRecord redeemed, tokens_.Redeem(parsed, node_id + " " + key));
  RETURN_IF_ERROR(nodes_.CheckJoin(node_id, key, redeemed.created_at));
  return Issue(read, node_id);
}

StatusOr<std::string> Enrollment::Renew(const std::string& node_id,
                                        const security::Lifetime& lifetime,
                                        const std::string& request) {
  ASSIGN_OR_RETURN(const CertificateRequest read, CertificateRequest::FromPem(request));
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(nodes_.Check(node_id, lifetime));
  return Issue(read, node_id);
}

Status Enrollment::Revoke(const std::string& node_id) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(nodes_.Revoke(node_id));
  LogWarning("a node was revoked", {{"node", node_id}});
  return OkStatus();
}

}  // namespace gp::coordinator
