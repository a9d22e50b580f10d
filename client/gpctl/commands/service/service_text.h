// The screen and the JSON document of a local service. Pure functions; used by gpctl's main thread.
#pragma once

#include <string>

#include "client/gpctl/render/run_json.h"
#include "client/gpctl/service/service_directory.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

// The fields of the document LocalService.
Json ServiceFields(const ServiceDirectory& directory, const ServiceRecord& record);

// Addresses, slots and directories, and the commands to type next.
std::string ServiceText(const ServiceDirectory& directory, const ServiceRecord& record,
                        const Session& session);

}  // namespace gp::gpctl
