// Atomic operations. Only one thread runs at a time, so a plain read and write is atomic.
#pragma once

#include "cuda_emulation/qualifiers.h"

namespace gp::cuda_emulation {
template <typename T>
T Exchange(T* address, T value) {
  const T old = *address;
  *address = value;
  return old;
}
}  // namespace gp::cuda_emulation

#define GP_ATOMIC(name, T, result)                                          \
  inline T name(T* address, T value) {                                      \
    const T old = *address;                                                 \
    return ::gp::cuda_emulation::Exchange(address, static_cast<T>(result)); \
  }
GP_ATOMIC(atomicAdd, int, old + value)
GP_ATOMIC(atomicAdd, unsigned int, old + value)
GP_ATOMIC(atomicAdd, unsigned long long, old + value)
GP_ATOMIC(atomicAdd, float, old + value)
GP_ATOMIC(atomicAdd, double, old + value)
GP_ATOMIC(atomicMax, int, old < value ? value : old)
GP_ATOMIC(atomicMax, unsigned int, old < value ? value : old)
GP_ATOMIC(atomicMin, int, old < value ? old : value)
GP_ATOMIC(atomicMin, unsigned int, old < value ? old : value)
GP_ATOMIC(atomicOr, int, old | value)
GP_ATOMIC(atomicOr, unsigned int, old | value)
GP_ATOMIC(atomicAnd, unsigned int, old& value)
#undef GP_ATOMIC

inline int atomicExch(int* address, int value) {
  return ::gp::cuda_emulation::Exchange(address, value);
}
inline unsigned int atomicExch(unsigned int* address, unsigned int value) {
  return ::gp::cuda_emulation::Exchange(address, value);
}
inline float atomicExch(float* address, float value) {
  return ::gp::cuda_emulation::Exchange(address, value);
}
inline int atomicCAS(int* address, int expected, int value) {
  return *address == expected ? ::gp::cuda_emulation::Exchange(address, value) : *address;
}
inline unsigned int atomicCAS(unsigned int* address, unsigned int expected, unsigned int value) {
  return *address == expected ? ::gp::cuda_emulation::Exchange(address, value) : *address;
}
