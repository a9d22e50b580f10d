// RunQuery: a filter for runs. A value; its functions are pure and thread-safe.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/state/run.h"

namespace gp::coordinator {

// Label "key=value", divided at its first '='. A key may contain '=', so "a=b=c" is the text of two
// different labels; a filter treats them as equal.
using LabelParts = std::pair<std::string, std::string>;
LabelParts DivideLabel(const std::string& key, const std::string& value);

struct RunQuery {
  // Absent: every namespace.
  std::optional<std::set<std::string>> namespaces;
  std::set<RunState> states;    // empty: every state
  std::string submitted_by;     // as in Run; empty: anybody
  std::set<LabelParts> labels;  // the run has all of them
  std::optional<Timestamp> submitted_since;
  // A part of the name or the beginning of the id; upper and lower case ASCII letters are equal.
  std::string search;

  bool WantsState(RunState state) const { return states.empty() || states.contains(state); }
  // Whether a run that has not ended can match.
  bool WantsLive() const;
  // Whether a run that has ended can match.
  bool WantsEnded() const;
  // Whether the query filters by namespaces and states only, so that RunCounts gives the total.
  bool IsCounted() const;
};

bool Matches(const RunQuery& query, const Run& run);

// Converts ASCII letters to lower case; Matches compares texts in this form.
std::string LowerCase(std::string text);

// An unambiguous text: equal for equal queries only.
std::string CanonicalText(const RunQuery& query);

}  // namespace gp::coordinator
