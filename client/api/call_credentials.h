// CallCredentials: the credentials that a client sends to the coordinator with each call. gpctl
// reads them in session/session.cc, the gateway in gateway/daemon.cc. Values and pure functions;
// thread-safe.
#pragma once

#include <grpcpp/client_context.h>

#include <string>

#include "base/status.h"

namespace gp::client {

struct CallCredentials {
  std::string token;  // the text of a user token, a secret; empty: no token is sent
};

// InvalidArgument when the token would be sent over a connection that others can read: TCP without
// TLS. Then the caller must not make the call. OK without a token.
Status CheckTokenMayGo(const CallCredentials& credentials, const std::string& address,
                       bool has_tls);

// Puts the token into the call's metadata.
void Show(const CallCredentials& credentials, grpc::ClientContext& context);

}  // namespace gp::client
