// Credentials that a machine or a container in a cloud gets from a local service: EC2's instance
// metadata (version 2, with a token), and the service of ECS and EKS. Blocks for at most some
// seconds. Thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "storage/object/credentials.h"

namespace gp::object {

// The service of ECS and EKS. `authorization` is its header, if there is one.
StatusOr<Credentials> ReadContainerCredentials(const std::string& url,
                                               const std::string& authorization);

// `endpoint` is http://169.254.169.254 on EC2.
StatusOr<Credentials> ReadInstanceCredentials(const std::string& endpoint);

}  // namespace gp::object
