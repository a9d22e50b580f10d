// ParentState: the state of the checkpoint in init_from that a run may take over besides the
// weights (init_optimizer, init_data), as far as it can be compared with the run file. Values and
// pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/model_shape.h"
#include "plan/run_spec.h"
#include "runspec/cross_check.h"

namespace gp::runspec {

struct ParentState {
  // Why nothing but weights can be taken from it, as the end of a sentence: "holds weights only: it
  // is a Hugging Face directory". Empty: it can; only then the other values are set.
  std::string refusal;
  int64_t step = 0;    // committed steps
  int64_t tokens = 0;  // that the run had learned from
  ModelShape shape;
  // As in run files. Absent: an older version of gp did not record it.
  std::optional<std::string> optimizer;
  std::optional<uint64_t> seed;
  std::optional<std::string> order;
  std::optional<int64_t> sequence;
  std::optional<std::vector<std::string>> trained;  // an empty list: all parts
};

// Why the run cannot take over what its init_optimizer and init_data ask for. A model.vocab of auto
// is not compared, nor whether a batch.micro_batch of auto divides the earlier run's tokens.
// REQUIRES: CrossCheck finds no problem.
std::vector<CrossProblem> CheckKept(const ParentState& parent, const RunSpec& spec);

// What is possible and changes the run after that step, or could not be compared.
std::vector<CrossProblem> KeptWarnings(const ParentState& parent, const RunSpec& spec);

// RunSpec::train as one text, for a checkpoint's record, and back. Empty: all parts.
std::string FormatTrained(const std::vector<std::string>& train);
std::vector<std::string> ParseTrained(const std::string& text);

}  // namespace gp::runspec
