// TLS of servers and channels: 1.3 only, with certificates from PEM files that are reloaded when
// they change, without a restart and without closing connections. Functions may be called from any
// thread.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "base/status.h"

namespace gp::rpc {

struct ServerTls {
  std::string certificate;  // file: the server's certificate, then those that signed it
  std::string key;          // its private key; may be the same file
  // File of authorities. A client may present a certificate; it must be signed by one of them.
  // Empty: clients present none.
  std::string client_ca;

  bool operator==(const ServerTls&) const = default;
};

struct ChannelTls {
  std::string ca;           // file of authorities that may sign the server's certificate
  std::string certificate;  // file of the client's own certificate; empty: it presents none
  std::string key;          // its private key; may be the same file

  bool operator==(const ChannelTls&) const = default;
};

// Checks that the files exist and match, because gRPC only logs problems with them. Errors name the
// file.
Status CheckTls(const ServerTls& tls);
Status CheckTls(const ChannelTls& tls);

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const ServerTls& tls);
// The server must have a certificate for the host in the channel's address.
std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const ChannelTls& tls);

}  // namespace gp::rpc
