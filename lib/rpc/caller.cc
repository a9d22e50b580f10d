#include "rpc/caller.h"

#include <grpcpp/security/auth_context.h>

#include <iterator>
#include <string_view>

#include "security/node_name.h"

namespace gp::rpc {
namespace {

constexpr std::string_view kBearerScheme = "Bearer ";

// The text after the scheme. A header of another scheme, or a second header, gives text that is no
// token, so that the call is refused instead of being treated as one without a token.
std::string BearerOf(const grpc::CallbackServerContext& context) {
  const auto [begin, end] = context.client_metadata().equal_range("authorization");
  if (begin == end) return "";
  const std::string_view value(begin->second.data(), begin->second.size());
  if (std::next(begin) != end || !value.starts_with(kBearerScheme)) return "not a bearer token";
  return std::string(value.substr(kBearerScheme.size()));
}

// "tls" or "ssl"; "insecure" without TLS; empty for an in-process call, which has no connection.
std::string SecurityOf(const grpc::CallbackServerContext& context) {
  const auto of_connection = context.auth_context();
  if (of_connection == nullptr) return "";
  const auto types = of_connection->FindPropertyValues("transport_security_type");
  return types.empty() ? "" : std::string(types.front().data(), types.front().size());
}

// Fills in the node that the connection's certificate names, which TLS has verified.
void ReadCertificate(const grpc::CallbackServerContext& context, Caller& caller) {
  const auto of_connection = context.auth_context();
  if (of_connection == nullptr) return;
  for (const grpc::string_ref& pem : of_connection->FindPropertyValues("x509_pem_cert")) {
    const auto certificate = security::Certificate::FromPem({pem.data(), pem.size()});
    if (!certificate.ok()) continue;
    caller.node_id = security::NodeOf(*certificate);
    caller.node_lifetime = certificate->lifetime();
  }
}

}  // namespace

Caller ReadCaller(const grpc::CallbackServerContext& context) {
  Caller caller;
  caller.address = context.peer();
  const std::string security = SecurityOf(context);
  const bool is_inside = security.empty() && caller.address == "unknown";
  if (is_inside) caller.address = "inside";
  caller.is_socket_owner = is_inside || caller.address.starts_with("unix:");
  caller.is_plain_network = !caller.is_socket_owner && security != "tls" && security != "ssl";
  caller.bearer = BearerOf(context);
  ReadCertificate(context, caller);
  return caller;
}

}  // namespace gp::rpc
