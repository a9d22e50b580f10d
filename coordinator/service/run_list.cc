#include "coordinator/service/run_list.h"

#include <algorithm>
#include <iterator>

namespace gp::coordinator {
namespace {

using RunPointer = std::shared_ptr<const Run>;

constexpr RunGroup kGroups[] = {RunGroup::kStarted, RunGroup::kWaiting, RunGroup::kEnded};

// The group of a run that had not ended at event `as_of`.
RunGroup GroupAt(uint64_t as_of, const Run& run) {
  const bool left = run.left_queue_sequence > 0 && run.left_queue_sequence <= as_of;
  return left ? RunGroup::kStarted : RunGroup::kWaiting;
}

bool IsNewer(const RunPointer& a, const RunPointer& b) {
  return a->submitted_sequence > b->submitted_sequence;
}

}  // namespace

StatusOr<RunPage> RunList::Page(const std::string& page_token, size_t limit) const {
  ASSIGN_OR_RETURN(RunCursor cursor, Begin(page_token));
  RunPage page{.total = cursor.total};
  RunCursor last = cursor;  // where the next page begins
  for (const RunGroup group : kGroups) {
    if (group < last.group) continue;
    if (group != cursor.group) cursor = {last.as_of, group, UINT64_MAX, last.total};
    // Fetches one extra run to see whether another page follows.
    ASSIGN_OR_RETURN(const Runs runs, Next(cursor, limit - page.runs.size() + 1));
    for (const RunPointer& run : runs) {
      if (page.runs.size() == limit) {
        page.next_page_token = Text(last, query_);
        return page;
      }
      page.runs.push_back(run);
      last.group = group;
      last.before = run->submitted_sequence;
    }
  }
  return page;
}

StatusOr<RunCursor> RunList::Begin(const std::string& page_token) const {
  if (page_token.empty()) {
    return RunCursor{.as_of = cluster_.last_sequence, .total = Count()};
  }
  ASSIGN_OR_RETURN(const RunCursor cursor, ParseRunCursor(page_token, query_));
  if (cursor.as_of <= cluster_.last_sequence) return cursor;
  return InvalidArgument(
      "page_token is newer than the coordinator's state, which was restored from a backup; "
      "leave it out to begin with the first page");
}

std::optional<int64_t> RunList::Count() const {
  if (!query_.IsCounted()) return std::nullopt;
  int64_t total = 0;
  for (const auto& [state, count] : cluster_.counts.In(query_.namespaces)) {
    total += query_.WantsState(state) ? count : 0;
  }
  return total;
}

bool RunList::Wants(RunGroup group) const {
  if (group == RunGroup::kStarted) return query_.WantsLive();
  if (group == RunGroup::kEnded) return query_.WantsEnded();
  return query_.WantsState(RunState::kSubmitted) || query_.WantsState(RunState::kQueued);
}

StatusOr<RunList::Runs> RunList::Next(const RunCursor& cursor, size_t count) const {
  if (!Wants(cursor.group)) return Runs();
  if (cursor.group == RunGroup::kEnded) return NextEnded(cursor, count);
  const Runs live = NextLive(cursor, count);
  ASSIGN_OR_RETURN(const Runs ended, NextEndedSince(cursor, count));
  Runs runs;
  std::merge(live.begin(), live.end(), ended.begin(), ended.end(), std::back_inserter(runs),
             IsNewer);
  if (runs.size() > count) runs.resize(count);
  return runs;
}

StatusOr<RunList::Runs> RunList::NextEnded(const RunCursor& cursor, size_t count) const {
  ASSIGN_OR_RETURN(
      const auto ended,
      store_.ListEnded(query_, {.through = cursor.as_of, .before = cursor.before, .limit = count}));
  Runs runs;
  for (const EndedRun& one : ended) {
    if (RunPointer run = cluster_.FindRun(one.run)) runs.push_back(std::move(run));
  }
  return runs;
}

// Stops once there are enough, so a long queue costs no more than a short one.
RunList::Runs RunList::NextLive(const RunCursor& cursor, size_t count) const {
  const auto& candidates = cursor.group == RunGroup::kStarted ? cluster_.busy : cluster_.live;
  const uint64_t before = std::min(cursor.before, cursor.as_of + 1);
  Runs runs;
  for (auto it = std::make_reverse_iterator(candidates.lower_bound(before));
       it != candidates.rend() && runs.size() < count; ++it) {
    const RunPointer& run = *cluster_.runs.Find(it->second);
    if (GroupAt(cursor.as_of, *run) == cursor.group && Matches(query_, *run)) runs.push_back(run);
  }
  return runs;
}

StatusOr<RunList::Runs> RunList::NextEndedSince(const RunCursor& cursor, size_t count) const {
  if (cursor.as_of == cluster_.last_sequence || !query_.WantsEnded()) return Runs();
  EndedRange range{.after = cursor.as_of,
                   .through = cluster_.last_sequence,
                   .before = std::min(cursor.before, cursor.as_of + 1),
                   .limit = count};
  Runs runs;
  while (runs.size() < count) {
    ASSIGN_OR_RETURN(const auto ended, store_.ListEnded(query_, range));
    for (const EndedRun& one : ended) {
      RunPointer run = cluster_.FindRun(one.run);
      if (run != nullptr && GroupAt(cursor.as_of, *run) == cursor.group) {
        runs.push_back(std::move(run));
      }
      range.before = one.submitted_sequence;
    }
    if (ended.size() < range.limit) break;
  }
  return runs;
}

}  // namespace gp::coordinator
