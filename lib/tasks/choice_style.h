// ChoiceStyle: the two published ways to ask a model a multiple-choice question. They score
// different texts in different ways, so a result always names its style. Pure functions; any thread
// may call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tasks/choice_file.h"

namespace gp::tasks {

enum class ChoiceStyle {
  // build-nanogpt's and llm.c's: the context as it is, " " and the ending encoded apart; acc by the
  // sum of the losses, acc_norm by their mean over tokens.
  kCompletion,
  // lm-evaluation-harness': HellaSwag's texts cleaned, context and ending encoded together; acc by
  // the sum of the log-probabilities, acc_norm by this sum over the ending's characters.
  kHarness,
};

inline const std::vector<std::string> kStyleNames = {"completion", "harness"};

const std::string& StyleName(ChoiceStyle style);
// REQUIRES: one of kStyleNames.
ChoiceStyle StyleOf(std::string_view name);

struct ChoiceTexts {
  std::string context;
  std::vector<std::string> endings;  // each follows the context after a space
};

// The texts that the model reads. InvalidArgument for a line of HellaSwag without the parts that
// the harness style needs, and for an ending that becomes empty.
StatusOr<ChoiceTexts> TextsOf(const ChoiceItem& item, ChoiceForm form, ChoiceStyle style);

}  // namespace gp::tasks
