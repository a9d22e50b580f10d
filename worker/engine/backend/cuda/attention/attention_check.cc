#include "worker/engine/backend/cuda/attention/attention_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "worker/engine/backend/cuda/kernels/flat.h"

namespace gp::engine {
namespace {

// Math attention computes only this many sequences; the other sequences are copies of them.
constexpr int64_t kDistinct = 2;

// An array of the compute type on the device.
class CheckArray {
 public:
  CheckArray(int64_t count, DataType type, const CudaStream& stream)
      : count_(count), type_(type), stream_(stream), memory_(count * BytesOf(type)) {}

  Buffer buffer() const { return {memory_.data(), type_}; }

  // Fills with normally distributed values; after the first `distinct` values they repeat.
  void Fill(unsigned seed, int64_t distinct) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<size_t>(distinct));
    for (float& value : values) value = normal(random);
    const DeviceMemory wide(distinct * 4);
    CheckCuda(cudaMemcpyAsync(wide.data(), values.data(), values.size() * sizeof(float),
                              cudaMemcpyHostToDevice, stream_.get()),
              "cudaMemcpyAsync to the device");
    LaunchConvert(distinct, buffer(), {wide.data(), DataType::kFloat32}, stream_.get());
    for (int64_t first = distinct; first < count_; first += distinct) {
      const int64_t count = std::min(distinct, count_ - first);
      CheckCuda(cudaMemcpyAsync(buffer().From(first).data, memory_.data(),
                                static_cast<size_t>(count * BytesOf(type_)),
                                cudaMemcpyDeviceToDevice, stream_.get()),
                "cudaMemcpyAsync on the device");
    }
    stream_.Synchronize();
  }

  // Sets the values after the first `count` to zero.
  void Cut(int64_t count) {
    CheckCuda(
        cudaMemsetAsync(buffer().From(count).data, 0,
                        static_cast<size_t>((count_ - count) * BytesOf(type_)), stream_.get()),
        "cudaMemsetAsync");
  }

  std::vector<float> Read(int64_t count) const {
    std::vector<float> values(static_cast<size_t>(count));
    const DeviceMemory wide(count * 4);
    LaunchConvert(count, {wide.data(), DataType::kFloat32}, buffer(), stream_.get());
    CheckCuda(cudaMemcpyAsync(values.data(), wide.data(), values.size() * sizeof(float),
                              cudaMemcpyDeviceToHost, stream_.get()),
              "cudaMemcpyAsync from the device");
    stream_.Synchronize();
    return values;
  }

 private:
  const int64_t count_;
  const DataType type_;
  const CudaStream& stream_;
  DeviceMemory memory_;
};

// ||a - b|| / ||b||; NaN if any value is NaN.
double RelativeDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double apart = static_cast<double>(a[i]) - b[i];
    difference += apart * apart;
    norm += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(difference / norm);
}

// Math attention rounds its scores to the compute type, which flash kernels never do: with scores
// of up to 4, this alone changes a probability by 2e-2 in bf16. A wrong kernel differs by far more.
double ToleranceOf(DataType type, bool tf32) {
  if (type == DataType::kBfloat16) return 5e-2;
  if (type == DataType::kFloat16) return 1e-2;
  return tf32 ? 1e-2 : 1e-4;
}

std::string Describe(const char* what, double difference, const AttentionShape& shape) {
  char text[200];
  std::snprintf(text, sizeof(text),
                "differs from math attention by %.2g in its %s at %lld x %lld x %lld x %lld",
                std::abs(difference), what, static_cast<long long>(shape.sequences),
                static_cast<long long>(shape.heads), static_cast<long long>(shape.length),
                static_cast<long long>(shape.head_size));
  return text;
}

}  // namespace

// The part that math attention computes for comparison: some sequences, or the beginning of one.
// The beginning does not depend on the rest of the sequence if no gradient comes from there.
AttentionShape AttentionCheck::ComparedShape() const {
  AttentionShape few = shape_;
  few.sequences = std::min(shape_.sequences, kDistinct);
  const auto bytes = [&] {
    return 2 * few.sequences * few.heads * few.length * few.length * BytesOf(type_);
  };
  if (bytes() > score_bytes_max_) few.sequences = 1;
  while (few.length > 1 && bytes() > score_bytes_max_) few.length = (few.length + 1) / 2;
  return few;
}

std::string AttentionCheck::DifferenceOf(AttentionKernels& kernels, ScratchMemory& scratch) const {
  if (!kernels.Takes(shape_, type_, {})) return "";
  const AttentionShape few = ComparedShape();
  const int64_t c = shape_.channels();
  const int64_t rows = shape_.sequences * shape_.length;
  const int64_t few_rows = few.sequences * few.length;
  const int64_t scores = few.sequences * few.heads * few.length * few.length;
  const auto array = [&](int64_t count) { return CheckArray(count, type_, stream_); };

  CheckArray qkv = array(rows * 3 * c), dout = array(rows * c);
  qkv.Fill(1, few_rows * 3 * c);
  dout.Fill(2, few_rows * c);
  if (few.length < shape_.length) dout.Cut(few_rows * c);
  const CheckArray out = array(rows * c), dqkv = array(rows * 3 * c);
  const DeviceMemory lse(shape_.sequences * shape_.heads * shape_.length * 4);
  auto* lse_floats = reinterpret_cast<float*>(lse.data());
  scratch.Clear();
  kernels.Forward({.shape = shape_, .out = out.buffer(), .lse = lse_floats, .qkv = qkv.buffer()},
                  stream_.get());
  scratch.Clear();
  kernels.Backward(
      {.shape = shape_,
       .dqkv = dqkv.buffer(),
       .dout = dout.buffer(),
       .out = out.buffer(),
       .lse = lse_floats,
       .qkv = qkv.buffer(),
       .dots = scratch.Allocate<float>(shape_.sequences * shape_.heads * shape_.length)},
      stream_.get());

  const CheckArray expected_out = array(few_rows * c), expected_dqkv = array(few_rows * 3 * c);
  const CheckArray probabilities = array(scores), d_scores = array(scores);
  const StoredAttention stored{.shape = few,
                               .qkv = qkv.buffer(),
                               .probabilities = probabilities.buffer(),
                               .scratch = d_scores.buffer()};
  math_.Forward(stored, expected_out.buffer());
  math_.Backward(stored, expected_dqkv.buffer(), dout.buffer());

  const double tolerance = ToleranceOf(type_, tf32_);
  const double of_out = RelativeDifference(out.Read(few_rows * c), expected_out.Read(few_rows * c));
  if (!(of_out < tolerance)) return Describe("result", of_out, shape_);
  const double of_dqkv =
      RelativeDifference(dqkv.Read(few_rows * 3 * c), expected_dqkv.Read(few_rows * 3 * c));
  if (!(of_dqkv < tolerance)) return Describe("gradient", of_dqkv, shape_);
  return "";
}

}  // namespace gp::engine
