#include "worker/engine/backend/cuda/noise.h"

#include <algorithm>
#include <random>
#include <vector>

#include "worker/engine/backend/cuda/kernels/flat.h"

namespace gp::engine {
namespace {

constexpr int64_t kPeriod = 1 << 16;

// Copies the first `filled` bytes, doubling them each time, until `bytes` are full.
void Repeat(std::byte* begin, int64_t filled, int64_t bytes, const CudaStream& stream) {
  for (; filled < bytes; filled *= 2) {
    CheckCuda(cudaMemcpyAsync(begin + filled, begin,
                              static_cast<size_t>(std::min(filled, bytes - filled)),
                              cudaMemcpyDeviceToDevice, stream.get()),
              "cudaMemcpyAsync on the device");
  }
}

std::vector<float> Values(int64_t count, float deviation) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

}  // namespace

Noise::Noise(int64_t count, DataType type, float deviation, const CudaStream& stream)
    : type_(type), memory_(count * BytesOf(type)) {
  const int64_t period = std::min(count, kPeriod);
  const std::vector<float> values = Values(period, deviation);
  const DeviceMemory wide(period * 4);
  CheckCuda(cudaMemcpyAsync(wide.data(), values.data(), static_cast<size_t>(period * 4),
                            cudaMemcpyHostToDevice, stream.get()),
            "cudaMemcpyAsync to the device");
  LaunchConvert(period, buffer(), {wide.data(), DataType::kFloat32}, stream.get());
  Repeat(memory_.data(), period * BytesOf(type), memory_.bytes(), stream);
  stream.Synchronize();
}

}  // namespace gp::engine
