// Cross-entropy over rows of logits. Forward keeps the log of the softmax denominator only;
// backward recomputes the probabilities from it and writes the gradient over the logits.
#pragma once

#include "worker/engine/backend/cpu/kernels/element.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

template <typename T>
inline float LogSumExp(const T* logits, int64_t classes) {
  Vec largest = Splat(-3.4e38f);
  ForVectors(0, classes, [&](int64_t i, int64_t lanes) {
    largest = Max(largest, KeepLanes(Load(logits + i, lanes), lanes, -3.4e38f));
  });
  const float maximum = Max(largest);
  Vec sum{};
  ForVectors(0, classes, [&](int64_t i, int64_t lanes) {
    sum = sum + KeepLanes(Exp(Load(logits + i, lanes) - maximum), lanes, 0);
  });
  return maximum + LogOf(Sum(sum));
}

inline void CrossEntropyRows(const CrossEntropyShape& shape, float* lse, Buffer buffer,
                             int64_t first, int64_t last) {
  WithElement(buffer, [&](auto* logits) {
    for (int64_t row = first; row < last; ++row) {
      lse[row] = LogSumExp(logits + row * shape.columns, shape.classes);
    }
  });
}

template <typename T>
inline void CrossEntropyBackwardRow(const CrossEntropyShape& shape, T* logits, float lse,
                                    int32_t target, float scale) {
  // The gradient at the target is formed in fp32 before the only rounding.
  const float at_target =
      target < 0 ? 0 : scale * (Exp(Splat(Load(logits + target, 1)[0] - lse))[0] - 1.0f);
  const float factor = target < 0 ? 0 : scale;
  ForVectors(0, shape.columns, [&](int64_t i, int64_t lanes) {
    const int64_t valid = shape.classes - i < lanes ? shape.classes - i : lanes;
    Vec gradient{};
    if (valid > 0 && target >= 0) {
      gradient = KeepLanes(factor * Exp(Load(logits + i, lanes) - lse), valid, 0);
    }
    Store(logits + i, gradient, lanes);
  });
  if (target >= 0) Store(logits + target, Splat(at_target), 1);
}

inline void CrossEntropyBackwardRows(const CrossEntropyShape& shape, Buffer buffer,
                                     const float* lse, const int32_t* targets, float scale,
                                     int64_t first, int64_t last) {
  WithElement(buffer, [&](auto* logits) {
    for (int64_t row = first; row < last; ++row) {
      CrossEntropyBackwardRow(shape, logits + row * shape.columns, lse[row], targets[row], scale);
    }
  });
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
