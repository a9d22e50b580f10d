// The contexts of local services in the user's file. Used by gpctl's main thread.
#pragma once

#include <string>

#include "client/gpctl/service/service_directory.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

// Saves the service as a context in its state directory and in the user's file, and makes it the
// current one there. The service works without the user's file, so a failure is only a warning.
void SaveServiceContexts(const ServiceDirectory& directory, const ServiceRecord& record,
                         Session& session);

// Removes the service's contexts from the user's file. A failure is only a warning.
void ForgetContext(const ServiceDirectory& directory, Session& session);

// The name of the current context; empty: there is none.
std::string CurrentContext(const Session& session);
// Does nothing when there is no context of that name.
void MakeCurrent(const std::string& name, Session& session);

GlobalOptions WithServer(GlobalOptions options, const std::string& address);

}  // namespace gp::gpctl
