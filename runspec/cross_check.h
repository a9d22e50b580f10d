// What no single key can tell: combinations that cannot work, and those that work but surprise.
// Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runspec/run_spec.h"

namespace gp::runspec {

struct CrossProblem {
  std::vector<std::string>
      keys;  // the most telling first; the first one that somebody wrote is pointed at
  std::string message;
  std::string hint;
  std::string other;  // a second key whose place is named too; empty: none
};

// Nothing of these can train. REQUIRES: every value is in its own range.
std::vector<CrossProblem> CrossCheck(const RunSpec& spec);

std::vector<CrossProblem> CrossWarnings(const RunSpec& spec);

// What is said of a model.vocab below the number of the tokenizer's ids, and the ways out.
std::string DescribeSmallVocabulary(const RunSpec& spec, int64_t tokenizer_vocabulary);
std::string SmallVocabularyHint(const RunSpec& spec);

}  // namespace gp::runspec
