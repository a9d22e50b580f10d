// The names of contexts and the files that 'gpctl login' keeps beside the context file.
// Thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "client/gpctl/session/context_file.h"

namespace gp::gpctl {

// "gp.example.org:7070"; every character that a file's name should not have becomes "-".
std::string ContextNameOf(const std::string& server);

// InvalidArgument unless it is 1 to 100 letters, digits, ".", "_", ":" or "-", without "." first.
Status CheckContextName(const std::string& name);

// Removes the context's token file and authority file.
Status ForgetFiles(const Context& context);

}  // namespace gp::gpctl
