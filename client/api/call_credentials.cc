#include "client/api/call_credentials.h"

#include "rpc/listen_address.h"

namespace gp::client {

Status CheckTokenMayGo(const CallCredentials& credentials, const std::string& address,
                       bool has_tls) {
  if (credentials.token.empty() || has_tls) return OkStatus();
  const auto parsed = rpc::ParseListenAddress(address);
  if (parsed.ok() && parsed->is_socket()) return OkStatus();
  return InvalidArgument(
      "the token is not sent to {}, because the connection would have no TLS and others could read "
      "it; 'gpctl login {} --token-file FILE' sets TLS up, or leave the token out (GPCTL_TOKEN, "
      "GPCTL_TOKEN_FILE) for a coordinator that runs with --insecure",
      address, address);
}

void Show(const CallCredentials& credentials, grpc::ClientContext& context) {
  if (credentials.token.empty()) return;
  context.AddMetadata("authorization", "Bearer " + credentials.token);
}

}  // namespace gp::client
