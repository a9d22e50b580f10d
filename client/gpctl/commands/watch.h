// Following a run to its end, shared by `gpctl watch` and `gpctl submit --wait`. Used by gpctl's
// main thread.
#pragma once

#include <string>

#include "client/gpctl/session/exit_code.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

struct WatchOptions {
  std::string run;
  bool plain = false;
  std::string interval;  // between lines or redraws; empty: 1s on a terminal, 5s elsewhere
  bool last_document_only = false;  // with -o json: one document at the end instead of a stream
};

// A live screen on a terminal, otherwise a line per interval. The exit code reflects how the run
// ended; Ctrl-C detaches.
StatusOr<ExitCode> FollowRun(const v1::Run& run, const WatchOptions& options, Session& session);

}  // namespace gp::gpctl
