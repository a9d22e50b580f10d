// Principal: the proven identity of a caller. A value; thread-safe.
#pragma once

#include <string>

#include "coordinator/access/role.h"
#include "security/certificate.h"

namespace gp::coordinator {

struct Principal {
  enum class Kind {
    kNobody,  // no proven identity
    kOwner,   // on the coordinator's Unix socket, without a token: admin everywhere
    kAnyone,  // over TCP without TLS, of a coordinator started with --insecure: admin everywhere
    kUser,    // holds a user token, whatever the connection
    kNode,    // holds a node's certificate
  };

  Kind kind = Kind::kNobody;
  std::string name;                  // the user token's name, or the node's id
  security::Lifetime node_lifetime;  // lifetime of a node's certificate
  std::string token_id;              // for users
  Roles roles;
  std::string address;

  // "user alice", "node 3f…", "owner", "anyone", "nobody"
  std::string Text() const;
};

}  // namespace gp::coordinator
