// Reading and writing rows as float, several elements at a time in one access of up to 16 bytes.
// For .cu files only.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

__device__ __forceinline__ float ToFloat(float value) { return value; }
__device__ __forceinline__ float ToFloat(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ __forceinline__ float ToFloat(__half value) { return __half2float(value); }

template <typename T>
__device__ __forceinline__ T FromFloat(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(value);
  } else {
    return __float2half_rn(value);
  }
}

// kLanes neighbouring values of a row.
template <int kLanes>
struct Floats {
  float lane[kLanes];
};

// The type that moves kBytes in one access.
template <int kBytes>
using Word = std::conditional_t<
    kBytes == 16, uint4,
    std::conditional_t<kBytes == 8, uint2,
                       std::conditional_t<kBytes == 4, unsigned int, unsigned short>>>;

template <typename T, int kLanes>
struct Access {
  static constexpr int kBytes = static_cast<int>(sizeof(T)) * kLanes;
  static constexpr int kWordBytes = kBytes < 16 ? kBytes : 16;
  static constexpr int kWords = kBytes / kWordBytes;
  using WordType = Word<kWordBytes>;
};

// kLanes neighbouring values of a row as they lie in memory.
template <typename T, int kLanes>
struct Packed {
  typename Access<T, kLanes>::WordType words[Access<T, kLanes>::kWords];
};

// REQUIRES: `from` is aligned to its kLanes elements or to 16 bytes.
template <int kLanes, typename T>
__device__ __forceinline__ Packed<T, kLanes> LoadPacked(const T* from) {
  Packed<T, kLanes> packed;
#pragma unroll
  for (int i = 0; i < Access<T, kLanes>::kWords; ++i) {
    packed.words[i] = reinterpret_cast<const typename Access<T, kLanes>::WordType*>(from)[i];
  }
  return packed;
}

// REQUIRES: `to` is aligned to its kLanes elements or to 16 bytes.
template <typename T, int kLanes>
__device__ __forceinline__ void StorePacked(T* to, const Packed<T, kLanes>& packed) {
#pragma unroll
  for (int i = 0; i < Access<T, kLanes>::kWords; ++i) {
    reinterpret_cast<typename Access<T, kLanes>::WordType*>(to)[i] = packed.words[i];
  }
}

template <typename T, int kLanes>
__device__ __forceinline__ Floats<kLanes> Unpack(const Packed<T, kLanes>& packed) {
  Floats<kLanes> values;
  if constexpr (std::is_same_v<T, __nv_bfloat16> && kLanes % 2 == 0) {
    // A bf16 is the upper half of a float, so each value takes one instruction. To split a pair and
    // call ToFloat() on both halves would take three.
    uint32_t halves[kLanes];
    uint32_t pairs[kLanes / 2];
    memcpy(pairs, packed.words, sizeof(pairs));
#pragma unroll
    for (int i = 0; i < kLanes / 2; ++i) {
      halves[2 * i] = pairs[i] << 16;
      halves[2 * i + 1] = pairs[i] & 0xffff0000u;
    }
    memcpy(values.lane, halves, sizeof(halves));
  } else {
    T elements[kLanes];
    memcpy(elements, packed.words, sizeof(elements));
#pragma unroll
    for (int i = 0; i < kLanes; ++i) values.lane[i] = ToFloat(elements[i]);
  }
  return values;
}

// REQUIRES: `from` is aligned to its kLanes elements or to 16 bytes.
template <int kLanes, typename T>
__device__ __forceinline__ Floats<kLanes> LoadFloats(const T* from) {
  return Unpack(LoadPacked<kLanes>(from));
}

// Like LoadFloats, for memory that neither the kernel nor the previous one in the stream writes:
// the compiler may move such a load above stores.
template <int kLanes>
__device__ __forceinline__ Floats<kLanes> LoadConstants(const float* from) {
  Packed<float, kLanes> packed;
#pragma unroll
  for (int i = 0; i < Access<float, kLanes>::kWords; ++i) {
    packed.words[i] =
        __ldg(reinterpret_cast<const typename Access<float, kLanes>::WordType*>(from) + i);
  }
  return Unpack(packed);
}

// REQUIRES: `to` is aligned to its kLanes elements or to 16 bytes.
template <int kLanes, typename T>
__device__ __forceinline__ void StoreElements(T* to, const T (&elements)[kLanes]) {
  Packed<T, kLanes> packed;
  memcpy(packed.words, elements, sizeof(elements));
  StorePacked(to, packed);
}

template <int kLanes, typename T>
__device__ __forceinline__ void StoreFloats(T* to, const Floats<kLanes>& values) {
  T elements[kLanes];
#pragma unroll
  for (int i = 0; i < kLanes; ++i) elements[i] = FromFloat<T>(values.lane[i]);
  StoreElements<kLanes>(to, elements);
}

#if !defined(GP_CUDA_EMULATION)
template <typename WordType>
__device__ __forceinline__ void StoreWordWhole(WordType* to, WordType word) {
  *to = word;
}
template <>
__device__ __forceinline__ void StoreWordWhole(uint4* to, uint4 word) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
               "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w)
               : "memory");
}
template <>
__device__ __forceinline__ void StoreWordWhole(uint2* to, uint2 word) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "r"(word.x),
               "r"(word.y)
               : "memory");
}
#endif

// Like StoreFloats, but to global memory and in one access. nvcc splits the store of a vector whose
// lanes were computed separately, and does not always combine it again.
template <int kLanes, typename T>
__device__ __forceinline__ void StoreFloatsWhole(T* to, const Floats<kLanes>& values) {
#if defined(GP_CUDA_EMULATION)
  StoreFloats<kLanes>(to, values);
#else
  T elements[kLanes];
#pragma unroll
  for (int i = 0; i < kLanes; ++i) elements[i] = FromFloat<T>(values.lane[i]);
  Packed<T, kLanes> packed;
  memcpy(packed.words, elements, sizeof(elements));
#pragma unroll
  for (int i = 0; i < Access<T, kLanes>::kWords; ++i) {
    StoreWordWhole(reinterpret_cast<typename Access<T, kLanes>::WordType*>(to) + i,
                   packed.words[i]);
  }
#endif
}

// Prefetches `count` elements, as a hint: on sm_90 and later, into the second-level cache.
// REQUIRES: the address `from` and the size are multiples of 16 bytes.
template <typename T>
__device__ __forceinline__ void PrefetchToCache([[maybe_unused]] const T* from,
                                                [[maybe_unused]] int count) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(from)),
               "r"(count * static_cast<int>(sizeof(T)))
               : "memory");
#endif
}

// The values after rounding to T and back.
template <typename T, int kLanes>
__device__ __forceinline__ Floats<kLanes> AsStored(Floats<kLanes> values) {
#pragma unroll
  for (int i = 0; i < kLanes; ++i) values.lane[i] = ToFloat(FromFloat<T>(values.lane[i]));
  return values;
}

// Host: whether `pointer` may be moved `bytes` at a time.
inline bool AlignedTo(const void* pointer, size_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

// Host: body(T{}) with the element type of `type`.
template <typename Body>
void WithElementType(DataType type, Body body) {
  switch (type) {
    case DataType::kFloat32:
      return body(float{});
    case DataType::kBfloat16:
      return body(__nv_bfloat16{});
    case DataType::kFloat16:
      return body(__half{});
  }
}

// Host: body(R{}, T{}) with the element types of the residual stream and of the compute type. The
// residual stream is fp32 or has the compute type.
template <typename Body>
void WithElementTypes(DataType residual, DataType compute, Body body) {
  if (residual != DataType::kFloat32 && residual != compute) {
    throw std::invalid_argument(
        "the residual stream must be fp32 or have the type of the activations");
  }
  WithElementType(compute, [&](auto t) {
    if (residual == DataType::kFloat32) {
      body(float{}, t);
    } else {
      body(t, t);
    }
  });
}

// Host: body(std::integral_constant<int, n>) with n elements per access for rows of `columns`
// elements: the widest of the types involved fills 16 bytes. n = 1 if that does not divide the
// rows.
template <int kWidestBytes, typename Body>
void WithLanes(int64_t columns, Body body) {
  constexpr int kLanes = 16 / kWidestBytes;
  if (columns % kLanes == 0) {
    body(std::integral_constant<int, kLanes>{});
  } else {
    body(std::integral_constant<int, 1>{});
  }
}

}  // namespace gp::engine
