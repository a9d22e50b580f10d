// Loops over flat buffers: AdamW, sum of squares, rounding to bf16, column sums.
#pragma once

#include "worker/engine/backend/cpu/kernels/element.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine::GP_ISA_NAMESPACE {

// Prefetch distance in values. The hardware prefetchers alone do not use the whole memory
// bandwidth.
inline constexpr int64_t kFlatAhead = 1024;

// base^exponent for AdamW's bias corrections: by squaring, in double like PyTorch's.
inline double Power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 != 0) result *= base;
  }
  return result;
}

// Keeps the compiler from fusing the multiplication that made `value` with a later addition, so
// that separate passes give the same bits.
inline Vec Rounded(Vec value) {
#if GP_ISA_WIDTH == 16
  asm("" : "+v"(value));
#else
  asm("" : "+x"(value));
#endif
  return value;
}

// Adds random bits below the bits that bf16 keeps, then truncates.
inline VecH ToBf16Stochastically(Vec value, const StochasticRounding& rounding, int64_t index) {
  VecU x = (reinterpret_cast<VecU>(LaneIndex()) + static_cast<uint32_t>(rounding.first + index)) ^
           static_cast<uint32_t>(rounding.key);
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  x = (x ^ (x >> 16)) ^ static_cast<uint32_t>(rounding.key >> 32);
  const VecU bits = reinterpret_cast<VecU>(value);
  const VecU cut = (bits + (x & 0xffffu)) >> 16;
  return __builtin_convertvector(value == value ? cut : ((bits >> 16) | 0x40u), VecH);
}

inline void StoreRounded(uint16_t* out, Vec value, const StochasticRounding& rounding,
                         int64_t index, int64_t lanes) {
  if (!rounding.on) return Store(out + index, value, lanes);
  const VecH bits = ToBf16Stochastically(value, rounding, index);
  for (int64_t lane = 0; lane < lanes; ++lane) out[index + lane] = bits[lane];
}

// AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101), with the operations in the order of
// torch.optim.AdamW.
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
  const float factor = args.factor == nullptr ? 1.0f : *args.factor;
  ForVectors(first, last, [&](int64_t i, int64_t lanes) {
    __builtin_prefetch(args.gradients + i + kFlatAhead);
    __builtin_prefetch(args.first_moment + i + kFlatAhead);
    __builtin_prefetch(args.second_moment + i + kFlatAhead);
    __builtin_prefetch(args.parameters + i + kFlatAhead);
    const Vec gradient = Rounded(Load(args.gradients + i, lanes) * factor);
    Vec m = Load(args.first_moment + i, lanes);
    m = m + (gradient - m) * weight1;
    const Vec v = Load(args.second_moment + i, lanes) * beta2 + weight2 * gradient * gradient;
    const Vec denominator = Sqrt(v) / root2 + eps;
    const Vec decayed = Rounded(Load(args.parameters + i, lanes) * decay);
    const Vec p = decayed - rate * (m / denominator);
    Store(args.first_moment + i, m, lanes);
    Store(args.second_moment + i, v, lanes);
    Store(args.parameters + i, p, lanes);
    if (args.working_copy != nullptr) StoreRounded(args.working_copy, p, args.rounding, i, lanes);
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

inline void RoundRange(uint16_t* out, const float* in, const StochasticRounding& rounding,
                       int64_t first, int64_t last) {
  ForVectors(first, last, [&](int64_t i, int64_t lanes) {
    StoreRounded(out, Load(in + i, lanes), rounding, i, lanes);
  });
}

inline void AxpbyRange(float* out, float a, const float* x, float b, const float* y, int64_t first,
                       int64_t last) {
  ForVectors(first, last, [&](int64_t i, int64_t lanes) {
    Vec value = Rounded(a * Load(x + i, lanes));
    if (y != nullptr) value = value + b * Load(y + i, lanes);
    Store(out + i, value, lanes);
  });
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
