// Many runs that differ in every property that a list can filter by, for tests of stores and lists.
#pragma once

#include <string>
#include <vector>

#include "base/check.h"
#include "coordinator/store/sample_events.h"
#include "coordinator/store/store.h"

namespace gp::coordinator {

inline RunId IdOfMany(int number) { return RunId(fmt::format("run{:05}", number)); }

inline Event SubmitOfMany(int number) {
  Submission submission;
  submission.name = fmt::format("{}-{:05}", number % 2 == 0 ? "Sweep" : "tiny", number);
  submission.request_id = fmt::format("request-{}", number);
  submission.run_namespace = fmt::format("team{}", number % 3);
  submission.labels = {{"group", std::to_string(number % 10)},
                       {"half", std::to_string(number % 2)},
                       {"a=b", std::to_string(number % 4)}};
  submission.workers = 1000;  // more than any node has, so the run stays queued
  return {IdOfMany(number), At(int64_t{1'000'000} * number), fmt::format("user u{}", number % 5),
          submission.request_id, RunSubmitted{submission}};
}

// One run in ten fails, one is cancelled, the others succeed.
inline RunState EndOfMany(int number) {
  return number % 10 == 3   ? RunState::kFailed
         : number % 10 == 7 ? RunState::kCancelled
                            : RunState::kSucceeded;
}

inline Event EndingOfMany(int number) {
  return {IdOfMany(number), At(int64_t{2'000'000} * number), "scheduler", "",
          RunEnded{EndOfMany(number), "it is over"}};
}

// Submits and ends the runs from `first` up to, but not including, `last`, in this order. If the
// first call begins at 0, run i is submitted by event 2 i + 1 and ends with event 2 i + 2.
inline void AppendEndedRuns(int first, int last, Store& store) {
  std::vector<Event> events;
  for (int number = first; number < last; ++number) {
    events.push_back(SubmitOfMany(number));
    events.push_back(EndingOfMany(number));
  }
  const auto appended = store.Append(events);
  GP_CHECK(appended.ok(), "{}", Message(appended.status()));
}

// Queries by every property, alone and combined.
inline std::vector<RunQuery> ManyQueries() {
  using Names = std::set<std::string>;
  return {{},
          {.states = {RunState::kFailed}},
          {.states = {RunState::kFailed, RunState::kCancelled}},
          {.states = {RunState::kRunning}},
          {.namespaces = Names{"team1"}},
          {.namespaces = Names{"team1", "team2"}},
          {.namespaces = Names{}},
          {.submitted_by = "user u4"},
          {.labels = {{"group", "3"}}},
          {.labels = {{"group", "3"}, {"half", "1"}}},
          {.labels = {{"group", "3"}, {"half", "0"}}},
          {.labels = {{"a", "b=2"}}},  // the key contains a '='
          {.labels = {{"a", "b=2"}, {"half", "1"}}},
          {.submitted_since = At(1'000'000'000)},
          {.search = "sWEEP-000"},
          {.search = "RUN0001"},
          {.search = "un0001"},  // no match: ids match by prefix only
          {.search = "%"},
          {.namespaces = Names{"team0"},
           .states = {RunState::kFailed},
           .submitted_by = "user u3",
           .labels = {{"half", "1"}},
           .submitted_since = At(100'000'000),
           .search = "tiny"}};
}

}  // namespace gp::coordinator
