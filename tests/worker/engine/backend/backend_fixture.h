// For kernel tests: seeded random arrays, a reference conversion to bf16, and the instruction sets
// that this processor supports.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "worker/engine/backend/cpu/cpu_backend.h"

namespace gp::engine {

inline std::vector<Isa> SupportedIsas() {
  std::vector<Isa> supported;
  for (const Isa isa : {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx}) {
    if (IsaSupported(isa)) supported.push_back(isa);
  }
  return supported;
}

inline std::unique_ptr<Backend> MakeTestBackend(Isa isa, int threads = 2) {
  return MakeCpuBackend({.threads = threads, .isa = isa, .sequence = 200, .head_size = 40});
}

inline std::vector<float> RandomValues(int64_t count, unsigned seed, float deviation = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

inline float FromBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// Rounds to nearest even by comparing the two neighbouring bf16 values.
inline uint16_t ToBf16(float value) {
  const auto below = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
  const auto above = static_cast<uint16_t>(below + 1);
  const double to_below = std::abs(static_cast<double>(value) - FromBf16(below));
  const double to_above = std::abs(static_cast<double>(FromBf16(above)) - value);
  if (to_below == to_above) return below % 2 == 0 ? below : above;
  return to_below < to_above ? below : above;
}

// An array in either element type, filled with the same values (rounded for bf16).
class Array {
 public:
  Array(const std::vector<float>& values, DataType type) : type_(type), f32_(values) {
    for (float& value : f32_) {
      bf16_.push_back(ToBf16(value));
      if (type == DataType::kBfloat16) value = FromBf16(bf16_.back());
    }
  }
  Buffer buffer() {
    return type_ == DataType::kFloat32 ? Buffer{f32_.data(), type_} : Buffer{bf16_.data(), type_};
  }
  float at(int64_t i) const {
    const auto index = static_cast<size_t>(i);
    return type_ == DataType::kFloat32 ? f32_[index] : FromBf16(bf16_[index]);
  }
  int64_t size() const { return static_cast<int64_t>(f32_.size()); }

 private:
  DataType type_;
  std::vector<float> f32_;
  std::vector<uint16_t> bf16_;
};

inline Array Zeros(int64_t count, DataType type) {
  return Array(std::vector<float>(static_cast<size_t>(count)), type);
}

// The error of a few roundings to `type` for a result of about this magnitude.
inline double ToleranceOf(DataType type, double magnitude) {
  return (type == DataType::kFloat32 ? 3e-6 : 8e-3) * (magnitude + 1);
}

}  // namespace gp::engine
