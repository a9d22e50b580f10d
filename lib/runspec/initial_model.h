// InitialModel: the model that a run's init_from names, as far as the run file depends on it: its
// shape, its tokenizer, and the state of training that comes with it. Pure functions; thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "plan/model_shape.h"
#include "plan/run_spec.h"
#include "runspec/cross_check.h"
#include "runspec/parent_state.h"

namespace gp::runspec {

inline constexpr char kFromScratch[] = "scratch";  // init_from that names no model

struct InitialModel {
  std::string path;  // absolute path of a checkpoint's directory, a Hugging Face directory, ...
  ModelShape shape;
  // The value of data.tokenizer that gives the model's tokenizer: bytes, gpt2 or a path. Empty when
  // the model has none.
  std::string tokenizer;
  // Whether another value of data.tokenizer gives the same tokens as the model's; true for a file
  // that cannot be read. Absent when the model has no tokenizer.
  std::function<bool(const std::string& tokenizer)> has_tokens_of;
  ParentState state;  // for a run that keeps a part of it
};

// Finds the model that a run file calls `reference`; relative paths start at `base_directory`.
using FindInitialModel = std::function<StatusOr<InitialModel>(const std::string& reference,
                                                              const std::string& base_directory)>;

// Sets `spec` to the model's shape, except dropout, and to its tokenizer; the run file's own values
// are applied later.
void ApplyInitialModel(const InitialModel& source, RunSpec& spec);

// Mismatches between `model` and the weights of `source`: everything must be equal, except n_ctx,
// which may be less, and the vocabulary, which may be more.
std::vector<CrossProblem> CheckAgainst(const ModelShape& source, const ModelShape& model);

// Why the run cannot take over what it asks for (CheckKept), or its data have other tokens than the
// data whose place init_data keeps. REQUIRES: as CheckKept.
std::vector<CrossProblem> CheckKeptOf(const InitialModel& source, const RunSpec& spec);

// Warns when the run's tokenizer gives an id another meaning than the model's does. `given`: the
// run file sets data.tokenizer itself.
std::vector<CrossProblem> TokenizerWarnings(const InitialModel& source, const RunSpec& spec,
                                            bool given);

}  // namespace gp::runspec
