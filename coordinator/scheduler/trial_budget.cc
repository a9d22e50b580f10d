#include "coordinator/scheduler/trial_budget.h"

#include <fmt/format.h>

#include "base/check.h"

namespace gp::coordinator {

// The resolved file has one key per line; the keys of a group follow its name.
Submission WithBudgetOfRung(const SweepSpec& spec, const SweepTrial& trial, size_t rung) {
  Submission submission = trial.submission;
  submission.source = spec.run_source;
  const int64_t steps = spec.early_stop.rungs.at(rung);
  submission.target_steps = steps;
  submission.target_tokens = trial.rung_tokens.at(rung);
  constexpr std::string_view kGroup = "\nbudget:\n";
  constexpr std::string_view kKey = "\n  steps: ";
  std::string& text = submission.resolved;
  const size_t group = text.find(kGroup);
  GP_CHECK(group != std::string::npos);
  const size_t begin = text.find(kKey, group + kGroup.size() - 1) + kKey.size();
  text.replace(begin, text.find('\n', begin) - begin, fmt::to_string(steps));
  return submission;
}

}  // namespace gp::coordinator
