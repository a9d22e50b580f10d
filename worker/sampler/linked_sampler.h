// gp-sampler under a supervisor: opens the checkpoint that the supervisor names, and answers
// requests for texts until the supervisor sends Stop or is gone. A thread of its own reads the
// link; the calling thread computes.
#pragma once

#include <string>

#include "base/file.h"

namespace gp::engine {

// Serves on `link`, one end of a socketpair (docs/formats/link.md). `program` is its name in
// errors. Returns the exit code of the process; when the supervisor is gone the process ends at
// once.
int RunLinkedSampler(FileDescriptor link, const std::string& program);

}  // namespace gp::engine
