// Keyed dropout inside kernels: the masks of dropout_key.h, bit for bit. For .cu files only.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/dropout_key.h"

namespace gp::engine {

// One site's dropout as a kernel argument.
struct DropoutMask {
  const uint64_t* key = nullptr;  // device memory; replaces batch_key; or absent
  uint64_t batch_key = 0;
  uint32_t site = 0;
  uint32_t threshold = 0;
  float scale = 1;
  bool active = false;
};

inline DropoutMask MaskOf(const Dropout& dropout) {
  if (dropout.probability <= 0) return {};
  return {.key = dropout.key,
          .batch_key = dropout.key != nullptr ? 0 : DropoutBatchKey(dropout),
          .site = dropout.site,
          .threshold = DropoutThreshold(dropout),
          .scale = DropoutScale(dropout),
          .active = true};
}

// The mask of one row.
struct DropoutMaskRow {
  uint64_t row_key;
  uint32_t threshold;
  float scale;

  __device__ __forceinline__ float operator()(int64_t column) const {
    const uint32_t hash = DropoutHash(row_key, static_cast<uint32_t>(column));
    return hash < threshold ? 0.0f : scale;
  }
};

// The result may be used only if mask.active.
__device__ __forceinline__ DropoutMaskRow RowOf(const DropoutMask& mask, int64_t row) {
  const uint64_t batch_key = mask.key != nullptr ? *mask.key : mask.batch_key;
  const uint64_t site_key = MixBits(batch_key ^ mask.site);
  return {DropoutRowKey(site_key, static_cast<uint64_t>(row)), mask.threshold, mask.scale};
}

// values := dropout(values), which begin at `column`.
template <int kLanes>
__device__ __forceinline__ void ApplyMask(const DropoutMaskRow& row, int64_t column,
                                          Floats<kLanes>& values) {
#pragma unroll
  for (int i = 0; i < kLanes; ++i) values.lane[i] *= row(column + i);
}

}  // namespace gp::engine
