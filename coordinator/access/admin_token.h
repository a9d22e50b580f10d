// The first admin's token: a coordinator that listens on TCP with TLS creates it, so that an admin
// exists who can create the others.
#pragma once

#include <string>

#include "base/status.h"
#include "coordinator/access/token_store.h"

namespace gp::coordinator {

// Makes sure that `security_dir`/admin.token (0600) holds a token with the role admin in every
// namespace. Makes one when the file is absent or when the store does not know the token in it, and
// revokes the one that an earlier file held. A token that was revoked or has expired stays as it
// is. The file carries the store's CA digest, also when that changed. Returns the path when the
// file was written, else "". Called once, before the server starts.
StatusOr<std::string> EnsureAdminToken(TokenStore& store, const std::string& security_dir);

}  // namespace gp::coordinator
