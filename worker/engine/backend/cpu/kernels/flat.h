// Loops over flat buffers: AdamW, sum of squares, rounding to bf16, column sums.
#pragma once

#include "worker/engine/backend/cpu/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/element.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

// Values ahead of the loop that are asked for: the processor's own prefetchers do not fill the bus.
inline constexpr int64_t kFlatAhead = 1024;

// PyTorch's power of beta, by squaring, in double.
inline double Power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 != 0) result *= base;
  }
  return result;
}

// Loshchilov & Hutter 2019, arXiv:1711.05101, as torch.optim.AdamW orders its operations.
inline void AdamWRange(const AdamWUpdate& args, int64_t first, int64_t last) {
  const double correction1 = 1 - Power(args.beta1, args.step);
  const double correction2 = 1 - Power(args.beta2, args.step);
  const auto decay = static_cast<float>(1 - args.lr * args.weight_decay);
  const auto rate = static_cast<float>(args.lr / correction1);
  const auto root2 = static_cast<float>(__builtin_sqrt(correction2));
  const auto eps = static_cast<float>(args.eps);
  const auto weight1 = static_cast<float>(1 - args.beta1);
  const auto beta2 = static_cast<float>(args.beta2);
  const auto weight2 = static_cast<float>(1 - args.beta2);
  ForVectors(first, last, [&](int64_t i, int64_t lanes) {
    __builtin_prefetch(args.gradients + i + kFlatAhead);
    __builtin_prefetch(args.first_moment + i + kFlatAhead);
    __builtin_prefetch(args.second_moment + i + kFlatAhead);
    __builtin_prefetch(args.parameters + i + kFlatAhead);
    const Vec gradient = Load(args.gradients + i, lanes) * args.gradient_coefficient;
    Vec m = Load(args.first_moment + i, lanes);
    m = m + (gradient - m) * weight1;
    const Vec v = Load(args.second_moment + i, lanes) * beta2 + weight2 * gradient * gradient;
    const Vec denominator = Sqrt(v) / root2 + eps;
    const Vec p = Load(args.parameters + i, lanes) * decay - rate * (m / denominator);
    Store(args.first_moment + i, m, lanes);
    Store(args.second_moment + i, v, lanes);
    Store(args.parameters + i, p, lanes);
    if (args.working_copy != nullptr) Store(args.working_copy + i, p, lanes);
  });
}

// Half a vector of floats and the vector of doubles that it widens to.
typedef float NarrowVec __attribute__((vector_size(kWidth * 2)));
typedef double WideVec __attribute__((vector_size(kWidth * 4)));

inline WideVec WideSquares(const float* values) {
  NarrowVec narrow;
  __builtin_memcpy(&narrow, values, sizeof(narrow));
  const WideVec wide = __builtin_convertvector(narrow, WideVec);
  return wide * wide;
}

inline double SumOfSquaresOf(const float* values, int64_t count) {
  constexpr int kHalf = kWidth / 2;
  WideVec even{};
  WideVec odd{};
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    __builtin_prefetch(values + i + kFlatAhead);
    even = even + WideSquares(values + i);
    odd = odd + WideSquares(values + i + kHalf);
  }
  double total = 0;
  for (int lane = 0; lane < kHalf; ++lane) total += even[lane] + odd[lane];
  for (; i < count; ++i) total += double{values[i]} * values[i];
  return total;
}

inline void RoundRange(uint16_t* out, const float* in, int64_t first, int64_t last) {
  ForVectors(first, last,
             [&](int64_t i, int64_t lanes) { Store(out + i, Load(in + i, lanes), lanes); });
}

inline void ColumnSums(Buffer buffer, int64_t rows, int64_t columns, float* sums, bool accumulate,
                       int64_t first, int64_t last) {
  WithElement(buffer, [&](auto* dy) {
    ForVectors(first, last, [&](int64_t i, int64_t lanes) {
      Vec sum = accumulate ? Load(sums + i, lanes) : Vec{};
      for (int64_t row = 0; row < rows; ++row) sum = sum + Load(dy + row * columns + i, lanes);
      Store(sums + i, sum, lanes);
    });
  });
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
