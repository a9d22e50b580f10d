// Following a run to its end, shared by `gpctl watch` and `gpctl submit --wait`. Used by gpctl's
// main thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/gpctl/session/exit_code.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

struct WatchOptions {
  std::string run;
  bool plain = false;
  std::string interval;                 // a duration; empty: 1s between redraws, 5s between lines
  bool last_document_only = false;      // with -o json: one document at the end instead of a stream
  std::optional<uint64_t> after_epoch;  // the lines leave out steps of it and of older epochs
};

// A live screen on a terminal (WatchScreen); otherwise, or with `plain`, lines: one per interval,
// for each evaluation and each change of state; with -o json a document after each change. The exit
// code reflects how the run ended (session/exit_code.h); Ctrl-C and the key q detach: kInterrupted.
StatusOr<ExitCode> FollowRun(const v1::Run& run, const WatchOptions& options, Session& session);

}  // namespace gp::gpctl
