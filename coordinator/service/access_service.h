// AccessService: the gRPC service for tokens and the audit log. A token is durable before its text
// is answered. Thread-safe.
#pragma once

#include "base/clock.h"
#include "coordinator/access/audit_log.h"
#include "coordinator/access/token_store.h"
#include "coordinator/service/method_service.h"
#include "gp/v1/access_service.grpc.pb.h"

namespace gp::coordinator {

class AccessService final : public MethodService<v1::AccessService> {
 public:
  // Every reference must outlive this object.
  AccessService(const ServiceContext& context, TokenStore& tokens, const AuditLog& audit,
                const Clock& clock);

 private:
  Status FillWhoAmI(const AdmittedCall& access, v1::WhoAmIResponse& response) const;
  Status FillCreated(AdmittedCall& access, const v1::CreateTokenRequest& request,
                     v1::CreateTokenResponse& response);
  Status FillTokens(const AdmittedCall& access, v1::ListTokensResponse& response) const;
  Status FillRevoked(AdmittedCall& access, const v1::RevokeTokenRequest& request,
                     v1::TokenInfo& response);

  TokenStore& tokens_;
  const AuditLog& audit_;
  const Clock& clock_;
  StreamCount audits_{4, "audit streams"};  // each reads a log that may be large
};

}  // namespace gp::coordinator
