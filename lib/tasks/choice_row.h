// ChoiceRow: one ending of a question after its context, as tokens: a row of a batch. Pure
// functions; any thread may call.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "tasks/choice_file.h"
#include "tasks/choice_style.h"
#include "tokenizer/tokenizer.h"

namespace gp::tasks {

struct ChoiceRow {
  std::vector<int32_t> tokens;  // context and ending; at least 2
  int64_t scored = 0;           // number of last tokens that belong to the ending
  double length = 0;            // what acc_norm divides by: the ending's tokens or characters

  // The number of tokens that the model reads: it need not read the last one.
  int64_t input_length() const { return std::ssize(tokens) - 1; }
};

// A row for each ending of each item, in order. The model reads at most `length_max` tokens of a
// row: the harness style cuts a longer one from the left, as lm-evaluation-harness does; the
// completion style refuses it, as build-nanogpt and llm.c do. InvalidArgument names file and line.
StatusOr<std::vector<ChoiceRow>> EncodeChoices(const ChoiceFile& file, ChoiceStyle style,
                                               const Tokenizer& tokenizer, int64_t length_max);

}  // namespace gp::tasks
