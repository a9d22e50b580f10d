// Arrays in device memory for kernel tests, accessed only through the CUDA runtime, so that the
// same test runs on a GPU and in the emulation; and a fixture that skips a test if there is no
// device.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cuda/runtime/cuda_error.h"

namespace gp::engine {

inline constexpr DataType kDataTypes[] = {DataType::kFloat32, DataType::kBfloat16,
                                          DataType::kFloat16};

// Combinations of types that the residual stream and the computation can have.
struct TypePair {
  DataType residual;
  DataType compute;
};
inline constexpr TypePair kTypePairs[] = {{DataType::kFloat32, DataType::kFloat32},
                                          {DataType::kFloat32, DataType::kBfloat16},
                                          {DataType::kFloat32, DataType::kFloat16},
                                          {DataType::kBfloat16, DataType::kBfloat16},
                                          {DataType::kFloat16, DataType::kFloat16}};

class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) GTEST_SKIP() << "no CUDA device: " << cudaGetErrorString(error);
  }
};

// `count` values of type T on the device.
template <typename T>
class DeviceValues {
 public:
  explicit DeviceValues(const std::vector<T>& values) : count_(values.size()) {
    CheckCuda(cudaMalloc(&data_, count_ * sizeof(T)), "cudaMalloc");
    Set(values);
  }
  DeviceValues(size_t count, T value) : DeviceValues(std::vector<T>(count, value)) {}
  ~DeviceValues() { cudaFree(data_); }
  DeviceValues(const DeviceValues&) = delete;
  DeviceValues& operator=(const DeviceValues&) = delete;

  T* data() const { return data_; }
  size_t size() const { return count_; }
  void Set(const std::vector<T>& values) {
    CheckCuda(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
              "cudaMemcpy to the device");
  }
  // Waits for all device work and returns the values.
  std::vector<T> Get() const {
    CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::vector<T> values(count_);
    CheckCuda(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost),
              "cudaMemcpy from the device");
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

// The bits of `value` in a 16-bit type, and the reverse.
inline uint16_t ToBits(float value, DataType type) {
  return type == DataType::kBfloat16 ? __bfloat16_as_ushort(__float2bfloat16_rn(value))
                                     : __half_as_ushort(__float2half_rn(value));
}
inline float FromBits(uint16_t bits, DataType type) {
  return type == DataType::kBfloat16 ? __bfloat162float(__ushort_as_bfloat16(bits))
                                     : __half2float(__ushort_as_half(bits));
}

// Values on the device in any type of the Backend, set and read as float. at() returns the value
// that was set, rounded to the type.
class DeviceArray {
 public:
  DeviceArray(const std::vector<float>& values, DataType type)
      : type_(type), values_(Rounded(values, type)), bytes_(Encode(values_, type)) {}

  Buffer buffer() const { return {bytes_.data(), type_}; }
  float* f32() const { return reinterpret_cast<float*>(bytes_.data()); }
  float at(int64_t i) const { return values_[static_cast<size_t>(i)]; }
  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  // The current values on the device.
  std::vector<float> Get() const {
    const std::vector<std::byte> bytes = bytes_.Get();
    std::vector<float> values(values_.size());
    if (type_ == DataType::kFloat32) {
      std::memcpy(values.data(), bytes.data(), bytes.size());
      return values;
    }
    std::vector<uint16_t> bits(values.size());
    std::memcpy(bits.data(), bytes.data(), bytes.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = FromBits(bits[i], type_);
    return values;
  }

 private:
  static std::vector<float> Rounded(std::vector<float> values, DataType type) {
    if (type == DataType::kFloat32) return values;
    for (float& value : values) value = FromBits(ToBits(value, type), type);
    return values;
  }
  static std::vector<std::byte> Encode(const std::vector<float>& values, DataType type) {
    std::vector<std::byte> bytes(values.size() * static_cast<size_t>(BytesOf(type)));
    if (type == DataType::kFloat32) {
      std::memcpy(bytes.data(), values.data(), bytes.size());
      return bytes;
    }
    std::vector<uint16_t> bits(values.size());
    for (size_t i = 0; i < values.size(); ++i) bits[i] = ToBits(values[i], type);
    std::memcpy(bytes.data(), bits.data(), bytes.size());
    return bytes;
  }

  DataType type_;
  std::vector<float> values_;
  DeviceValues<std::byte> bytes_;
};

// Normally distributed values, by seed.
inline std::vector<float> NormalValues(int64_t count, unsigned seed, float deviation = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

// An array that a kernel must overwrite; filled with NaN.
inline DeviceArray Unwritten(int64_t count, DataType type) {
  return DeviceArray(std::vector<float>(static_cast<size_t>(count), std::nanf("")), type);
}

// The error of a few roundings to `type` for a result of about this magnitude.
inline double DeviceTolerance(DataType type, double magnitude) {
  double unit = 4e-6;
  if (type == DataType::kBfloat16) unit = 8e-3;
  if (type == DataType::kFloat16) unit = 1e-3;
  return unit * (std::abs(magnitude) + 1);
}

}  // namespace gp::engine
