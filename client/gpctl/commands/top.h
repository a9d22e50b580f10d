// The fleet on a screen, shared by `gpctl top` and `gpctl watch` without a run. Used by gpctl's
// main thread.
#pragma once

#include <string>

#include "client/gpctl/session/exit_code.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

struct TopOptions {
  bool once = false;
  std::string interval;  // a duration; empty: 2s
};

// A live screen on a terminal; otherwise, or with `once`, the same tables once; with -o json one
// document.
StatusOr<ExitCode> ShowFleet(const TopOptions& options, Session& session);

}  // namespace gp::gpctl
