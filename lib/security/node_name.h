// The name of a node in its certificate: the URI "gp:node:<node_id>", and the host name that all
// nodes have in common. Pure functions; thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "security/certificate.h"

namespace gp::security {

// When a node serves its metrics, clients check this name. It is not a real address, so a node with
// its certificate cannot impersonate the coordinator or any other server.
inline constexpr const char* kNodeHost = "node.gp.internal";

// REQUIRES: `node_id` is one that IsNodeId accepts.
std::string NodeUri(const std::string& node_id);

// 1 to 64 letters, digits, '-' and '_': safe in a certificate.
bool IsNodeId(const std::string& text);

// The node that the certificate was made for; empty when it was not made for a node, or names more
// than one.
std::string NodeOf(const Certificate& certificate);

}  // namespace gp::security
