// Failpoints: named places, before and after each durable or visible action, where a test can make
// the process die as kill -9 would. Off unless the environment variable GP_FAILPOINT names one:
//
//   GP_FAILPOINT=store.after_commit:kill      dies at the first passage
//   GP_FAILPOINT=store.after_commit:kill@3    dies at the third passage
//   GP_FAILPOINT_ONCE=/tmp/dir/marker         in addition: creates this file first and dies only if
//                                             it did not exist, so that the restarted process does
//                                             not die again
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
  uint64_t passage = 1;  // dies at this passage, counted from 1
};

// "name:kill" or "name:kill@N"; the empty text arms nothing. InvalidArgument shows the expected
// form.
StatusOr<FailpointSetting> ParseFailpoint(std::string_view text);

// Dies by SIGKILL when `name` is armed and this is its passage. Aborts when GP_FAILPOINT has
// another form.
void Failpoint(std::string_view name);

}  // namespace gp
