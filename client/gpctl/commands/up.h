// Pieces of `gpctl up` that `gpctl demo` shares. Used by gpctl's main thread.
#pragma once

#include <string>

#include "client/gpctl/service/service_directory.h"
#include "client/gpctl/session.h"

namespace gp::gpctl {

// Makes the service the one that later commands talk to. The service works without the user's file,
// so a failure is only a warning.
void SaveServiceContexts(const ServiceDirectory& directory, const ServiceRecord& record,
                         Session& session);

GlobalOptions WithServer(GlobalOptions options, const std::string& address);

}  // namespace gp::gpctl
