// Vectors of one instruction-set level and the functions on them. This header and its neighbours
// are compiled once per level, by kernels_<level>.cc, which defines before including them
//   GP_ISA_NAMESPACE  a namespace of its own, so that no inline function leaks into another level
//   GP_ISA_WIDTH      floats in a vector: 4, 8 or 16
// For the same reason the kernels call nothing of the standard library. Pure functions;
// thread-safe.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <utility>

namespace gp::engine::GP_ISA_NAMESPACE {

inline constexpr int kWidth = GP_ISA_WIDTH;

typedef float Vec __attribute__((vector_size(kWidth * 4)));
typedef int32_t VecI __attribute__((vector_size(kWidth * 4)));
typedef uint32_t VecU __attribute__((vector_size(kWidth * 4)));
typedef uint16_t VecH __attribute__((vector_size(kWidth * 2)));
typedef float UnalignedVec __attribute__((vector_size(kWidth * 4), aligned(4), may_alias));
typedef uint32_t UnalignedVecU __attribute__((vector_size(kWidth * 4), aligned(2), may_alias));
typedef uint16_t UnalignedVecH __attribute__((vector_size(kWidth * 2), aligned(2), may_alias));

// Uses intrinsics, because `Vec{} + value` is an addition, which turns -0 into 0.
inline Vec Splat(float value) {
#if GP_ISA_WIDTH == 16
  return _mm512_set1_ps(value);
#elif GP_ISA_WIDTH == 8
  return _mm256_set1_ps(value);
#else
  return _mm_set1_ps(value);
#endif
}

inline Vec FromBf16(VecH bits) {
  return reinterpret_cast<Vec>(__builtin_convertvector(bits, VecU) << 16);
}

// Rounds to nearest even; NaN stays NaN.
inline VecH ToBf16(Vec value) {
  const VecU bits = reinterpret_cast<VecU>(value);
  const VecU rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const VecU result = value == value ? rounded : ((bits >> 16) | 0x40u);
  return __builtin_convertvector(result, VecH);
}

inline Vec Load(const float* from) { return *reinterpret_cast<const UnalignedVec*>(from); }
inline Vec Load(const uint16_t* from) {
  return FromBf16(*reinterpret_cast<const UnalignedVecH*>(from));
}
inline void Store(float* to, Vec value) { *reinterpret_cast<UnalignedVec*>(to) = value; }
inline void Store(uint16_t* to, Vec value) {
  *reinterpret_cast<UnalignedVecH*>(to) = ToBf16(value);
}

// Load and Store for the first `count` <= kWidth elements; Load sets the other lanes to 0. If the
// compiler knows that `count` is kWidth, only the plain access remains.
#if GP_ISA_WIDTH == 16
inline __mmask16 FirstLanes(int64_t count) { return static_cast<__mmask16>((1u << count) - 1); }
inline Vec Load(const float* from, int64_t count) {
  return count == kWidth ? Load(from) : _mm512_maskz_loadu_ps(FirstLanes(count), from);
}
inline Vec Load(const uint16_t* from, int64_t count) {
  if (count == kWidth) return Load(from);
  return FromBf16(reinterpret_cast<VecH>(_mm256_maskz_loadu_epi16(FirstLanes(count), from)));
}
inline void Store(float* to, Vec value, int64_t count) {
  if (count == kWidth) return Store(to, value);
  _mm512_mask_storeu_ps(to, FirstLanes(count), value);
}
inline void Store(uint16_t* to, Vec value, int64_t count) {
  if (count == kWidth) return Store(to, value);
  _mm256_mask_storeu_epi16(to, FirstLanes(count), reinterpret_cast<__m256i>(ToBf16(value)));
}
#else
template <typename T>
inline Vec Load(const T* from, int64_t count) {
  if (count == kWidth) return Load(from);
  T lanes[kWidth] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return Load(lanes);
}

template <typename T>
inline void Store(T* to, Vec value, int64_t count) {
  if (count == kWidth) return Store(to, value);
  T lanes[kWidth];
  Store(lanes, value);
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
}
#endif

// Calls body(i, lanes) for each vector of [first, last): full ones, then the rest.
template <typename Body>
inline __attribute__((always_inline)) void ForVectors(int64_t first, int64_t last, Body body) {
  int64_t i = first;
  for (; i + kWidth <= last; i += kWidth) body(i, int64_t{kWidth});
  if (i < last) body(i, last - i);
}

inline VecI LaneIndex() {
  VecI lanes{};
  for (int i = 0; i < kWidth; ++i) lanes[i] = i;
  return lanes;
}

// `value` in the first `count` lanes, `other` in the rest.
inline Vec KeepLanes(Vec value, int64_t count, float other) {
  if (count == kWidth) return value;
  return LaneIndex() < static_cast<int32_t>(count) ? value : Splat(other);
}

// The larger and the smaller of two values; b if either is NaN.
inline Vec Max(Vec a, Vec b) {
#if GP_ISA_WIDTH == 16
  return _mm512_max_ps(a, b);
#elif GP_ISA_WIDTH == 8
  return _mm256_max_ps(a, b);
#else
  return _mm_max_ps(a, b);
#endif
}
inline Vec Min(Vec a, Vec b) {
#if GP_ISA_WIDTH == 16
  return _mm512_min_ps(a, b);
#elif GP_ISA_WIDTH == 8
  return _mm256_min_ps(a, b);
#else
  return _mm_min_ps(a, b);
#endif
}

// Sum and Max combine halves until one lane is left, in an order that depends only on the width.
#if GP_ISA_WIDTH == 4
inline __m128 AddToQuarter(Vec value) { return value; }
inline __m128 MaxToQuarter(Vec value) { return value; }
#elif GP_ISA_WIDTH == 8
inline __m128 AddToQuarter(Vec value) {
  return _mm_add_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps(value, 1));
}
inline __m128 MaxToQuarter(Vec value) {
  return _mm_max_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps(value, 1));
}
#else
inline __m128 AddToQuarter(Vec value) {
  const __m256 half =
      _mm256_add_ps(_mm512_castps512_ps256(value), _mm512_extractf32x8_ps(value, 1));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}
inline __m128 MaxToQuarter(Vec value) {
  const __m256 half =
      _mm256_max_ps(_mm512_castps512_ps256(value), _mm512_extractf32x8_ps(value, 1));
  return _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}
#endif

inline float Sum(Vec value) {
  const __m128 four = AddToQuarter(value);
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

inline float Max(Vec value) {
  const __m128 four = MaxToQuarter(value);
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

inline Vec Sqrt(Vec value) {
#if GP_ISA_WIDTH == 16
  return _mm512_sqrt_ps(value);
#elif GP_ISA_WIDTH == 8
  return _mm256_sqrt_ps(value);
#else
  return _mm_sqrt_ps(value);
#endif
}

// e^x within 2 ulp: Cephes' expf (S. Moshier), range reduction by multiples of ln 2. Below -87.3:
// 0.
inline Vec Exp(Vec x) {
  const Vec clamped = Max(Min(x, Splat(88.3762626647950f)), Splat(-87.3365447504f));
  // Adding 1.5 * 2^23 rounds to a whole number, which is then in the low bits.
  const Vec shifted = clamped * 1.44269504088896341f + 12582912.0f;
  const Vec whole = shifted - 12582912.0f;
  const Vec r = clamped - whole * 0.693359375f + whole * 2.12194440e-4f;
  Vec p = Splat(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const Vec scaled =
      reinterpret_cast<Vec>(reinterpret_cast<VecU>(p) + (reinterpret_cast<VecU>(shifted) << 23));
  return x < -87.3365447504f ? Vec{} : scaled;
}

// ln x of a positive normal x within 2 ulp: Cephes' logf. libm is not used, because its result bits
// depend on the processor.
inline Vec Log(Vec x) {
  const VecI bits = reinterpret_cast<VecI>(x);
  const Vec mantissa = reinterpret_cast<Vec>((bits & 0x007fffff) | 0x3f000000);  // [0.5, 1)
  const Vec power = __builtin_convertvector((bits >> 23) - 126, Vec);
  const Vec exponent = mantissa < 0.707106781186547524f ? power - 1.0f : power;
  const Vec m = (mantissa < 0.707106781186547524f ? mantissa + mantissa : mantissa) - 1.0f;
  Vec p = Splat(7.0376836292e-2f);
  p = p * m + -1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m + -1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m + -1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m + -2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const Vec m2 = m * m;
  const Vec low = p * m * m2 + exponent * -2.12194440e-4f + m2 * -0.5f;
  return m + low + exponent * 0.693359375f;
}

inline float LogOf(float value) { return Log(Splat(value))[0]; }

// Returns `ratio` inside (-limit, limit) and exactly -1 or 1 outside, because x * (1 - tanh^2) must
// be 0 for large x.
inline Vec Saturate(Vec value, Vec ratio, float limit) {
  const Vec below = value <= -limit ? Splat(-1.0f) : ratio;
  return value >= limit ? Splat(1.0f) : below;
}

// Rational approximations in fp32 (those of Eigen's generic_fast_tanh and generic_fast_erf): a few
// ulp.
inline Vec Tanh(Vec value) {
  const Vec x = Max(Min(value, Splat(7.90531110763549805f)), Splat(-7.90531110763549805f));
  const Vec x2 = x * x;
  Vec p = Splat(-2.76076847742355e-16f);
  p = p * x2 + 2.00018790482477e-13f;
  p = p * x2 + -8.60467152213735e-11f;
  p = p * x2 + 5.12229709037114e-08f;
  p = p * x2 + 1.48572235717979e-05f;
  p = p * x2 + 6.37261928875436e-04f;
  p = p * x2 + 4.89352455891786e-03f;
  Vec q = Splat(1.19825839466702e-06f);
  q = q * x2 + 1.18534705686654e-04f;
  q = q * x2 + 2.26843463243900e-03f;
  q = q * x2 + 4.89352518554385e-03f;
  return Saturate(value, x * p / q, 7.90531110763549805f);
}

inline Vec Erf(Vec value) {
  const Vec x = Max(Min(value, Splat(4.0f)), Splat(-4.0f));
  const Vec x2 = x * x;
  Vec p = Splat(-2.72614225801306e-10f);
  p = p * x2 + 2.77068142495902e-08f;
  p = p * x2 + -2.10102402082508e-06f;
  p = p * x2 + -5.69250639462346e-05f;
  p = p * x2 + -7.34990630326855e-04f;
  p = p * x2 + -2.95459980854025e-03f;
  p = p * x2 + -1.60960333262415e-02f;
  Vec q = Splat(-1.45660718464996e-05f);
  q = q * x2 + -2.13374055278905e-04f;
  q = q * x2 + -1.68282697438203e-03f;
  q = q * x2 + -7.37332916720468e-03f;
  q = q * x2 + -1.42647390514189e-02f;
  return Saturate(value, x * p / q, 4.0f);
}

// Transposes a kWidth x kWidth block held in `rows`, by log2(kWidth) exchanges of halves.
template <int kStep, size_t... kLane>
inline void ExchangeHalves(VecU& a, VecU& b, std::index_sequence<kLane...>) {
  const VecU first = __builtin_shufflevector(
      a, b, ((kLane & kStep) == 0 ? int{kLane} : kWidth + int{kLane} - kStep)...);
  const VecU second = __builtin_shufflevector(
      a, b, ((kLane & kStep) == 0 ? int{kLane} + kStep : kWidth + int{kLane})...);
  a = first;
  b = second;
}

template <int kStep>
inline __attribute__((always_inline)) void TransposeStep(VecU (&rows)[kWidth]) {
#pragma GCC unroll 16
  for (int i = 0; i < kWidth; ++i) {
    if ((i & kStep) == 0) {
      ExchangeHalves<kStep>(rows[i], rows[i + kStep], std::make_index_sequence<kWidth>());
    }
  }
}

inline __attribute__((always_inline)) void Transpose(VecU (&rows)[kWidth]) {
  TransposeStep<1>(rows);
  TransposeStep<2>(rows);
  if constexpr (kWidth >= 8) TransposeStep<4>(rows);
  if constexpr (kWidth >= 16) TransposeStep<8>(rows);
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
