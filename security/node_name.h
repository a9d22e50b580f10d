// The name of a node in its certificate: the URI "gp:node:<node_id>". Pure functions; thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "security/certificate.h"

namespace gp::security {

// REQUIRES: `node_id` is one that IsNodeId accepts.
std::string NodeUri(const std::string& node_id);

// 1 to 64 letters, digits, '-' and '_': what a certificate may carry.
bool IsNodeId(const std::string& text);

// The node that the certificate was made for; empty when it was not made for a node, or names more
// than one.
std::string NodeOf(const Certificate& certificate);

}  // namespace gp::security
