// AccessClient: the coordinator's AccessService as a C++ object. It never retries a call, because a
// retry could create a second token. Owned by the caller; thread-safe.
#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "client/api/run_client.h"
#include "gp/v1/access_service.grpc.pb.h"

namespace gp::client {

class AccessClient {
 public:
  // `interruption` ends every call with Cancelled; it must outlive this object.
  AccessClient(RunClientOptions options, Interruption& interruption);

  StatusOr<v1::WhoAmIResponse> WhoAmI();
  // Fills an empty request id.
  StatusOr<v1::CreateTokenResponse> CreateToken(v1::CreateTokenRequest request);
  StatusOr<v1::ListTokensResponse> ListTokens();
  StatusOr<v1::TokenInfo> RevokeToken(const std::string& id);
  // Each line of the audit log after that record, until the consumer returns false.
  Status Audit(uint64_t after_sequence, const std::function<bool(const std::string&)>& consumer);

 private:
  template <typename Call>
  Status CallOnce(const Call& call);
  // Waits for the options' timeout at most. A call without a connection fails with the reason.
  void AwaitConnection() const;
  Status Explain(const Status& status) const;

  const RunClientOptions options_;
  Interruption& interruption_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::AccessService::Stub> stub_;
};

}  // namespace gp::client
