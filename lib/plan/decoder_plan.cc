#include "plan/decoder_plan.h"

#include <algorithm>
#include <string>
#include <vector>

#include "plan/align_up.h"

namespace gp::runspec {
namespace {

constexpr int64_t kCapacityUnit = 64;
// Large enough that packing weights for a matrix product pays off; small against the cache of one
// slot.
constexpr int64_t kRowsMax = 256;
// With fewer rows, scoring a prompt would read the head's weights more often.
constexpr int64_t kHeadRowsMin = 32;

void AppendWeights(const ModelShape& shape, const std::string& compute, ArenaPlan& plan) {
  const ParameterLayout layout = MakeParameterLayout(shape);
  int64_t longest_row = 0;
  for (const ParameterInfo& tensor : layout.tensors) {
    const bool tokens = tensor.name == "wte.weight";
    const bool positions = tensor.name == "wpe.weight";
    if (!tensor.decayed) continue;
    if (tokens || positions) plan.Append(tensor.name, "fp32", tensor.shape);
    if (positions || (tokens && !shape.tied_head)) continue;
    plan.Append(kPackedPrefix + tensor.name, compute,
                {PackedWeightElements(tensor.shape[0], tensor.shape[1])});
    longest_row = std::max(longest_row, tensor.shape[1]);
  }
  const int64_t vectors = layout.total_count - layout.decayed_count;
  const int64_t staged = kPackedPieceRows * longest_row;
  plan.Append("vectors", "fp32", {vectors});
  plan.Append("staging", "fp32", {staged});
  if (compute == "fp32") return;
  plan.Append("vectors.compute", compute, {vectors});
  plan.Append("staging.compute", compute, {staged});
}

}  // namespace

int64_t CacheCapacity(int64_t length) { return AlignUp(length, kCapacityUnit); }

int64_t DecoderRows(const DecoderPlanOptions& options) {
  return std::min(kRowsMax, options.slots * options.length);
}

int64_t DecoderHeadRows(const DecoderPlanOptions& options) {
  return std::min(DecoderRows(options), std::max(options.slots, kHeadRowsMin));
}

ArenaPlan MakeDecoderPlan(const ModelShape& shape, const DecoderPlanOptions& options) {
  const std::string compute = options.bf16 ? "bf16" : options.fp16 ? "fp16" : "fp32";
  const int64_t rows = DecoderRows(options);
  const int64_t head_rows = DecoderHeadRows(options);
  const int64_t c = shape.channels;
  const int64_t head_size = c / shape.heads;
  const int64_t capacity = CacheCapacity(options.length);
  const std::vector<int64_t> cache = {shape.layers, options.slots, shape.heads, capacity,
                                      head_size};
  ArenaPlan plan;
  plan.Append("keys", compute, cache);
  plan.Append("values", compute, cache);
  plan.Append("tokens", "int32", {3, rows});  // and the slots and positions of single tokens
  plan.Append("residual", "fp32", {rows, c});
  plan.Append("norm", compute, {rows, c});
  plan.Append("norm.mean", "fp32", {rows});
  plan.Append("norm.rstd", "fp32", {rows});
  plan.Append("qkv", compute, {rows, 3 * c});
  plan.Append("attention", compute, {rows, c});
  plan.Append("branch", compute, {rows, c});
  plan.Append("fc", compute, {rows, 4 * c});
  plan.Append("gelu", compute, {rows, 4 * c});
  plan.Append("head_rows", compute, {head_rows, c});
  plan.Append("logits", "fp32", {head_rows, shape.vocabulary_padded});
  if (options.on_device) {
    plan.Append("likely", "fp32", {2, head_rows, kLikelyTokens});  // ids, then logits
  }
  plan.Append("scratch", "fp32", {options.threads, capacity + AlignUp(head_size, 16)});
  if (options.own_weights) AppendWeights(shape, compute, plan);
  return plan;
}

}  // namespace gp::runspec
