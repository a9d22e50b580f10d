// The name of a node in its certificate: the URI "gp:node:<node_id>", and the host name that all
// nodes have in common. Pure functions; thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "security/certificate.h"

namespace gp::security {

// Where a node is a server, for its metrics, clients check this name. It is nobody's address, so
// that a node with its certificate cannot pass for the coordinator or for any other server.
inline constexpr const char* kNodeHost = "node.gp.internal";

// REQUIRES: `node_id` is one that IsNodeId accepts.
std::string NodeUri(const std::string& node_id);

// 1 to 64 letters, digits, '-' and '_': what a certificate may carry.
bool IsNodeId(const std::string& text);

// The node that the certificate was made for; empty when it was not made for a node, or names more
// than one.
std::string NodeOf(const Certificate& certificate);

}  // namespace gp::security
