// Rows of stored attention probabilities: softmax over the keys that a query may see, dropout, and
// their gradient. Row r of a (B*H*T, T) array belongs to query r % T.
#pragma once

#include "worker/engine/backend/cpu/kernels/dropout.h"
#include "worker/engine/backend/cpu/kernels/element.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

template <typename T>
inline void StoreZeros(T* row, int64_t first, int64_t last) {
  ForVectors(first, last, [&](int64_t i, int64_t lanes) { Store(row + i, Vec{}, lanes); });
}

// scores := softmax(scale * scores) over the first `keys` of `length` columns, 0 after them.
template <typename T>
inline void CausalSoftmaxRow(T* scores, int64_t keys, int64_t length, float scale) {
  Vec largest = Splat(-3.4e38f);
  ForVectors(0, keys, [&](int64_t i, int64_t lanes) {
    largest = Max(largest, KeepLanes(Load(scores + i, lanes) * scale, lanes, -3.4e38f));
  });
  const float maximum = Max(largest);
  Vec sums{};
  ForVectors(0, keys, [&](int64_t i, int64_t lanes) {
    sums = sums + KeepLanes(Exp(Load(scores + i, lanes) * scale - maximum), lanes, 0);
  });
  const float inverse = 1.0f / Sum(sums);
  ForVectors(0, keys, [&](int64_t i, int64_t lanes) {
    Store(scores + i, Exp(Load(scores + i, lanes) * scale - maximum) * inverse, lanes);
  });
  StoreZeros(scores, keys, length);
}

inline void CausalSoftmaxRows(Buffer buffer, int64_t length, float scale, int64_t first,
                              int64_t last) {
  WithElement(buffer, [&](auto* scores) {
    for (int64_t row = first; row < last; ++row) {
      CausalSoftmaxRow(scores + row * length, row % length + 1, length, scale);
    }
  });
}

inline void DropProbabilityRows(Buffer out_buffer, Buffer in_buffer, int64_t length,
                                const Dropout& dropout, int64_t first, int64_t last) {
  const DropoutSite site(dropout);
  WithElement(in_buffer, [&](auto* in) {
    auto* out = static_cast<decltype(in)>(out_buffer.data);
    for (int64_t row = first; row < last; ++row) {
      const DropoutRow mask = site.Row(row);
      ForVectors(0, length, [&](int64_t i, int64_t lanes) {
        Store(out + row * length + i, Load(in + row * length + i, lanes) * mask.Mask(i), lanes);
      });
    }
  });
}

// With g = dropout(d): d := scale * p * (g - sum(p * g)), the gradient of the unscaled scores.
template <typename T>
inline void CausalSoftmaxBackwardRow(T* d, const T* p, int64_t keys, int64_t length, float scale,
                                     bool drops, const DropoutRow& mask) {
  const auto gradient = [&](int64_t i, int64_t lanes) {
    const Vec loaded = Load(d + i, lanes);
    return drops ? loaded * mask.Mask(i) : loaded;
  };
  Vec sums{};
  ForVectors(0, keys, [&](int64_t i, int64_t lanes) {
    sums = sums + Load(p + i, lanes) * gradient(i, lanes);
  });
  const float sum = Sum(sums);
  ForVectors(0, keys, [&](int64_t i, int64_t lanes) {
    Store(d + i, Load(p + i, lanes) * (gradient(i, lanes) - sum) * scale, lanes);
  });
  StoreZeros(d, keys, length);
}

inline void CausalSoftmaxBackwardRows(Buffer d_buffer, Buffer p_buffer, int64_t length, float scale,
                                      const Dropout& dropout, int64_t first, int64_t last) {
  const DropoutSite site(dropout);
  WithElement(d_buffer, [&](auto* d) {
    const auto* p = static_cast<decltype(d)>(p_buffer.data);
    for (int64_t row = first; row < last; ++row) {
      CausalSoftmaxBackwardRow(d + row * length, p + row * length, row % length + 1, length, scale,
                               site.active(), site.Row(row));
    }
  });
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
