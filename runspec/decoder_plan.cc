#include "runspec/decoder_plan.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace gp::runspec {
namespace {

constexpr int64_t kAlignmentBytes = 64;
constexpr int64_t kCapacityUnit = 64;
// Enough for a matrix product to be worth packing its weights; few enough to be small beside the
// cache of one slot.
constexpr int64_t kRowsMax = 256;

int64_t AlignUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void Add(ArenaPlan& plan, const std::string& name, const std::string& type,
         std::vector<int64_t> shape) {
  int64_t size_bytes = type == "bf16" || type == "fp16" ? 2 : 4;
  for (const int64_t dimension : shape) size_bytes *= dimension;
  plan.tensors.push_back({name, type, std::move(shape), plan.total_bytes, size_bytes});
  plan.total_bytes += AlignUp(size_bytes, kAlignmentBytes);
}

}  // namespace

int64_t CacheCapacity(int64_t length) { return AlignUp(length, kCapacityUnit); }

int64_t DecoderRows(const DecoderPlanOptions& options) {
  return std::min(kRowsMax, options.slots * options.length);
}

ArenaPlan MakeDecoderPlan(const ModelShape& shape, const DecoderPlanOptions& options) {
  const std::string compute = options.bf16 ? "bf16" : options.fp16 ? "fp16" : "fp32";
  const int64_t rows = DecoderRows(options);
  const int64_t c = shape.channels;
  const int64_t head_size = c / shape.heads;
  const int64_t capacity = CacheCapacity(options.length);
  const std::vector<int64_t> cache = {shape.layers, options.slots, shape.heads, capacity,
                                      head_size};
  ArenaPlan plan;
  Add(plan, "keys", compute, cache);
  Add(plan, "values", compute, cache);
  Add(plan, "tokens", "int32", {rows});
  Add(plan, "residual", "fp32", {rows, c});
  Add(plan, "norm", compute, {rows, c});
  Add(plan, "norm.mean", "fp32", {rows});
  Add(plan, "norm.rstd", "fp32", {rows});
  Add(plan, "qkv", compute, {rows, 3 * c});
  Add(plan, "attention", compute, {rows, c});
  Add(plan, "branch", compute, {rows, c});
  Add(plan, "fc", compute, {rows, 4 * c});
  Add(plan, "gelu", compute, {rows, 4 * c});
  Add(plan, "last_rows", compute, {options.slots, c});
  Add(plan, "logits", "fp32", {options.slots, shape.vocabulary_padded});
  Add(plan, "scratch", "fp32", {options.threads, capacity + AlignUp(head_size, 16)});
  return plan;
}

}  // namespace gp::runspec
