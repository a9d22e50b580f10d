// Failpoints: named places, before and after each durable or visible action and in each phase of a
// training, where a test can make the process die as kill -9 would, or its thread hang. Off unless
// the environment variable GP_FAILPOINT names one:
//
//   GP_FAILPOINT=store.after_commit:kill      dies at the first passage
//   GP_FAILPOINT=store.after_commit:kill@3    dies at the third passage
//   GP_FAILPOINT=step.backward:hang@3         the thread computes forever at the third passage
//   GP_FAILPOINT_ONCE=/tmp/dir/marker         in addition: creates this file first and does so only
//                                             if it did not exist, so that the restarted process
//                                             does not fail again
//
// Thread-safe. A passage through a failpoint that is off costs one comparison.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp {

struct FailpointSetting {
  std::string name;      // empty: none is armed
  uint64_t passage = 1;  // fails at this passage, counted from 1
  bool hangs = false;    // instead of dying
};

// "name:kill" or "name:hang", with "@N" for a passage; the empty text arms nothing. InvalidArgument
// shows the expected form.
StatusOr<FailpointSetting> ParseFailpoint(std::string_view text);

// Dies by SIGKILL, or never returns, when `name` is armed and this is its passage. Aborts when
// GP_FAILPOINT has another form.
void Failpoint(std::string_view name);

}  // namespace gp
