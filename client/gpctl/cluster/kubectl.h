// Kubectl: creates an object in Kubernetes by running the user's kubectl, with its configuration
// and credentials. Used by gpctl's thread.
#pragma once

#include <string>

#include "base/status.h"
#include "client/gpctl/terminal/console.h"

namespace gp::gpctl {

// The path of kubectl. FailedPrecondition when the search path has none.
StatusOr<std::string> FindKubectl(const Console& console);

// `kubectl create` with this text. Its output goes to console.err. FailedPrecondition, with its
// exit code, when it fails; Cancelled when interrupted.
Status CreateObject(const std::string& kubectl, const std::string& text, Console& console);

}  // namespace gp::gpctl
