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
  // As in build-nanogpt and llm.c: the context as it is, and " " with the ending, are encoded
  // separately; acc uses the sum of the losses, acc_norm their mean over tokens.
  kCompletion,
  // As in lm-evaluation-harness: HellaSwag's texts are cleaned, context and ending are encoded
  // together; acc uses the sum of the log-probabilities, acc_norm this sum divided by the number of
  // the ending's characters.
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
