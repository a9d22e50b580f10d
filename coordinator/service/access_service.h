// AccessService: the gRPC service for tokens and the audit log. Its work runs in the access lane,
// because a token is durable before its text is answered. Thread-safe.
#pragma once

#include "base/clock.h"
#include "coordinator/access/access_gate.h"
#include "coordinator/control/change_hub.h"
#include "coordinator/service/pooled_call.h"
#include "coordinator/service/stream_count.h"
#include "coordinator/service/work_lanes.h"
#include "gp/v1/access_service.grpc.pb.h"

namespace gp::coordinator {

// The service with every method as bytes.
using AccessServiceOfBytes = v1::AccessService::WithRawCallbackMethod_WhoAmI<
    v1::AccessService::WithRawCallbackMethod_CreateToken<
        v1::AccessService::WithRawCallbackMethod_ListTokens<
            v1::AccessService::WithRawCallbackMethod_RevokeToken<
                v1::AccessService::WithRawCallbackMethod_Audit<v1::AccessService::Service>>>>>;

class AccessService final : public AccessServiceOfBytes {
 public:
  // Every reference outlives the service.
  AccessService(AccessGate& gate, TokenStore& tokens, const AuditLog& audit, ChangeHub& hub,
                WorkLanes& lanes, const Clock& clock)
      : gate_(gate), tokens_(tokens), audit_(audit), hub_(hub), lanes_(lanes), clock_(clock) {}

  grpc::ServerUnaryReactor* WhoAmI(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* CreateToken(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListTokens(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* RevokeToken(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Audit(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request) override;

 private:
  Handling HandlingOf(std::string_view method) {
    return {gate_, method, lanes_.access, kRequestBytesMax};
  }
  Status FillWhoAmI(const AdmittedCall& access, v1::WhoAmIResponse& response) const;
  Status FillCreated(AdmittedCall& access, const v1::CreateTokenRequest& request,
                     v1::CreateTokenResponse& response);
  Status FillRevoked(AdmittedCall& access, const v1::RevokeTokenRequest& request,
                     v1::TokenInfo& response);

  AccessGate& gate_;
  TokenStore& tokens_;
  const AuditLog& audit_;
  ChangeHub& hub_;
  WorkLanes& lanes_;
  const Clock& clock_;
  StreamCount audits_{4};  // each reads a log that may be large
};

}  // namespace gp::coordinator
