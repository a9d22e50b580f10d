// The memory of a decoder (worker/engine/model/gpt2_decoder.h): the cache of keys and values, the
// activations of the rows in progress, and the weights if it owns them. Standard library only. Pure
// functions; thread-safe.
#pragma once

#include <cstdint>

#include "plan/arena_plan.h"
#include "plan/model_shape.h"
#include "plan/packed_weight.h"

namespace gp::runspec {

struct DecoderPlanOptions {
  int64_t slots = 1;   // sequences at a time
  int64_t length = 0;  // positions of each
  bool bf16 = false;   // compute type, also of the cache
  int threads = 1;
  bool fp16 = false;  // the compute type instead of bf16
  // True: the plan has the weights in the form used for computing: matrices packed, in the compute
  // type; token and position embeddings and vectors in fp32; a head tied to the token embedding in
  // both forms. False: the weights are elsewhere.
  bool own_weights = false;
  bool on_device = false;  // room for the likeliest tokens, which a device finds itself
};

// The likeliest tokens that a decoder on a device finds for each row: at least `top_k` of a request
// that names none.
inline constexpr int64_t kLikelyTokens = 64;

// Used if own_weights is true: the prefix of a packed matrix's name in the plan, and how many rows
// of a matrix are packed at a time.
inline constexpr const char* kPackedPrefix = "packed.";
inline constexpr int64_t kPackedPieceRows = 16 * kPackedColumns;

// Positions that a slot's cache has room for: `length` rounded up to whole blocks of keys.
int64_t CacheCapacity(int64_t length);

// Rows that pass through the model at a time; longer prompts are read in pieces.
int64_t DecoderRows(const DecoderPlanOptions& options);

// Rows of logits that are computed at a time.
int64_t DecoderHeadRows(const DecoderPlanOptions& options);

ArenaPlan MakeDecoderPlan(const ModelShape& shape, const DecoderPlanOptions& options);

}  // namespace gp::runspec
