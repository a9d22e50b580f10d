// Principal: who makes a call, as far as it is proven. A value; thread-safe.
#pragma once

#include <string>

#include "coordinator/access/role.h"
#include "security/certificate.h"

namespace gp::coordinator {

struct Principal {
  enum class Kind {
    kNobody,  // proved nothing
    kOwner,   // of the coordinator's Unix socket: admin everywhere
    kAnyone,  // whoever reaches a coordinator that is started with --insecure: admin everywhere
    kUser,    // holds a user token
    kNode,    // holds a node's certificate
  };

  Kind kind = Kind::kNobody;
  std::string name;                  // of a user's token; the node's id
  security::Lifetime node_lifetime;  // of a node's certificate
  std::string token_id;              // of a user
  Roles roles;
  std::string address;

  // "user alice", "node 3f…", "owner", "anyone", "nobody"
  std::string Text() const;
};

}  // namespace gp::coordinator
