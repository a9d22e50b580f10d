// The memory of a decoder (worker/engine/model/gpt2_decoder.h) besides the model's weights: the
// cache of keys and values, and the activations of the rows under way. Standard library only. Pure
// functions; thread-safe.
#pragma once

#include <cstdint>

#include "runspec/arena_plan.h"
#include "runspec/model_shape.h"

namespace gp::runspec {

struct DecoderPlanOptions {
  int64_t slots = 1;   // sequences at a time
  int64_t length = 0;  // positions of each
  bool bf16 = false;   // compute type, of the cache too
  int threads = 1;
  bool fp16 = false;  // the compute type instead of bf16
};

// Positions that a slot's cache has room for: `length` rounded up to whole blocks of keys.
int64_t CacheCapacity(int64_t length);

// Rows that pass through the model at a time: longer prompts go in pieces.
int64_t DecoderRows(const DecoderPlanOptions& options);

// Rows of logits that are computed at a time.
int64_t DecoderHeadRows(const DecoderPlanOptions& options);

ArenaPlan MakeDecoderPlan(const ModelShape& shape, const DecoderPlanOptions& options);

}  // namespace gp::runspec
