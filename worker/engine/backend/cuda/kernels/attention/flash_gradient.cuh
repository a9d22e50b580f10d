// The gradient of one score, for the backward pass on CUDA cores and on tensor cores. Included by
// flash_*_backward.cu.
#pragma once

#include "worker/engine/backend/cuda/kernels/attention/flash_view.cuh"

namespace gp::engine {

// The values of one query, scaled for exponentials of base 2.
struct QueryScalars {
  float lse2;  // +inf if there is no such query: probability 0
  float dots;
  uint64_t row_key;
};

template <typename T>
__device__ __forceinline__ QueryScalars ScalarsOf(const FlashBackwardArrays<T>& arrays,
                                                  const FlashView& view, int64_t head, int query,
                                                  const DropoutMask& mask) {
  if (query >= view.length) return {INFINITY, 0, 0};
  const int64_t row = head * view.length + query;
  return {arrays.lse[row] * kLog2E, arrays.dots[row], RowOf(mask, row).row_key};
}

// score becomes the probability after dropout but without dropout's scale; dprob becomes the
// gradient of the score.
template <bool kDrops>
__device__ __forceinline__ void ScoreGradient(float& score, float& dprob, float scale2,
                                              bool visible, const QueryScalars& query,
                                              const DropoutMask& mask, int key) {
  const float p = visible ? FastExp2(fmaf(score, scale2, -query.lse2)) : 0.0f;
  const bool kept = !kDrops || Keeps(mask, query.row_key, key);
  const float gradient = kept ? (kDrops ? dprob * mask.scale : dprob) : 0.0f;
  dprob = p * (gradient - query.dots);
  score = kept ? p : 0.0f;
}

}  // namespace gp::engine
