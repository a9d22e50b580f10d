// ModelPart: a part of a model as run files name it (`last 2 blocks`, `ln_f`), and how a run trains
// each: not at all, or with a learning rate of its own (run file: train, learning_rates). Standard
// library only. Values and pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/model_shape.h"
#include "plan/run_spec.h"

namespace gp::runspec {

struct ModelPart {
  std::string module;  // "wte", "wpe", "h", "ln_f" or "lm_head"
  // For module "h": the part is blocks [first_block, last_block).
  int64_t first_block = 0;
  int64_t last_block = 0;

  // Whether the part has the parameter of this name ("h.0.ln_1.weight").
  bool Holds(std::string_view parameter) const;
  bool Overlaps(const ModelPart& other) const;
};

// `wte`, `wpe`, `blocks`, `block N` (from 0), `first N blocks`, `last N blocks`, `ln_f` or, if it
// has its own weights, `lm_head`. Nullopt for a part that the model does not have.
std::optional<ModelPart> ParseModelPart(std::string_view text, const ModelShape& shape);

// How a run trains the parts of its model.
struct TrainedParts {
  std::vector<ModelPart> trained;  // empty: all
  struct Rate {
    ModelPart part;
    double lr_ratio = 1;  // its learning rate, as a share of optimizer.lr
  };
  std::vector<Rate> rates;
};

// REQUIRES: `spec` is checked. Skips unknown names.
TrainedParts TrainedPartsOf(const RunSpec& spec);

// The first function tells whether the run trains this parameter ("wte.weight") or, if the name
// ends with a dot, any parameter of this module ("wte."). The second tells whether it trains block
// `layer`.
bool Trains(const TrainedParts& parts, std::string_view parameter);
bool TrainsBlock(const TrainedParts& parts, int64_t layer);

// The layout of `shape`, with `trained` and `lr_ratio` of each tensor set from `parts`.
ParameterLayout MakeParameterLayout(const ModelShape& shape, const TrainedParts& parts);

// Elements [first, last) of the flat parameters.
struct ParameterRange {
  int64_t first = 0;
  int64_t last = 0;
  bool operator==(const ParameterRange&) const = default;
};

// From the first trained tensor to the end of the last one; may include frozen ones in between.
// Empty when nothing is trained.
ParameterRange TrainedRange(const ParameterLayout& layout);

// Parameters that are trained, without alignment gaps.
int64_t TrainedParameterCount(const ParameterLayout& layout);

// The number of lowest blocks without a backward pass: they and everything below them are frozen.
int64_t ForwardOnlyBlocks(const ModelShape& shape, const TrainedParts& parts);

}  // namespace gp::runspec
