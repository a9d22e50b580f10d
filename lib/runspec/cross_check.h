// Checks of several keys together: combinations that cannot work, and those that work but are
// surprising. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/run_spec.h"

namespace gp::runspec {

// The maximum number of entries in data.weights.
inline constexpr size_t kMixedSourcesMax = 64;

// The maximum number of targets in notify.
inline constexpr size_t kNotifyTargetsMax = 32;

struct CrossProblem {
  std::vector<std::string>
      keys;  // the most important first; the message points at the first one that is in the file
  std::string message;
  std::string hint;
  std::string other;  // a second key whose place is shown too; empty: none
};

// The problems that keep the run from training. REQUIRES: every value is in its own range.
std::vector<CrossProblem> CrossCheck(const RunSpec& spec);

std::vector<CrossProblem> CrossWarnings(const RunSpec& spec);

// The names in `notify` that are not among `known`, the targets that the run may name.
std::vector<CrossProblem> CheckNotify(const RunSpec& spec, const std::vector<std::string>& known);

// The message for a model.vocab below the number of the tokenizer's ids, and how to solve it.
std::string DescribeSmallVocabulary(const RunSpec& spec, int64_t tokenizer_vocabulary);
std::string SmallVocabularyHint(const RunSpec& spec);

}  // namespace gp::runspec
