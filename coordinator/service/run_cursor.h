// RunCursor: where a page of List ends and the next one begins, and its text, the page_token. A
// value; its functions are pure and thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "coordinator/state/queries/run_query.h"

namespace gp::coordinator {

// The sections of a list, in the order shown. A run keeps the section that it had at the first
// page, so it cannot move between two pages.
enum class RunGroup {
  kStarted = 0,  // it left the queue and has not ended
  kWaiting = 1,  // it never left the queue and has not ended
  kEnded = 2,
};

struct RunCursor {
  uint64_t as_of = 0;  // the newest event when the first page was made
  RunGroup group = RunGroup::kStarted;
  uint64_t before = UINT64_MAX;  // the next run of the group was submitted before this event
  std::optional<int64_t> total;  // from the first page
};

std::string Text(const RunCursor& cursor, const RunQuery& query);
// InvalidArgument if `text` is not what Text returned for this query.
StatusOr<RunCursor> ParseRunCursor(const std::string& text, const RunQuery& query);

}  // namespace gp::coordinator
