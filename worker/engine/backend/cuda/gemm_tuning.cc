#include "worker/engine/backend/cuda/gemm_tuning.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "worker/engine/backend/cuda/cublas_lt.h"
#include "worker/engine/backend/cuda/device_allocations.h"
#include "worker/engine/backend/cuda/kernels/flat.h"
#include "worker/engine/backend/cuda/linear_products.h"
#include "worker/engine/backend/cuda/runtime.h"

namespace gp::engine {
namespace {

constexpr int kRuns = 4;
// A candidate must be faster than cuBLASLt's own first choice by this, or noise decides.
constexpr double kGainMin = 0.98;

DataType ComputeTypeOf(const runspec::ArenaOptions& arena) {
  if (arena.bf16) return DataType::kBfloat16;
  return arena.fp16 ? DataType::kFloat16 : DataType::kFloat32;
}

// Memory that products read: normally distributed, because the power that a tensor core draws, and
// with it the clock, depends on the bits.
class TuningMemory {
 public:
  TuningMemory(int64_t count, DataType type, const CudaStream& stream)
      : type_(type), memory_(count * BytesOf(type)) {
    constexpr int64_t kPeriod = 1 << 16;
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(kPeriod);
    for (float& value : values) value = normal(random);
    const DeviceMemory wide(kPeriod * 4);
    CheckCuda(cudaMemcpyAsync(wide.data(), values.data(), kPeriod * 4, cudaMemcpyHostToDevice,
                              stream.get()),
              "cudaMemcpyAsync to the device");
    for (int64_t first = 0; first < count; first += kPeriod) {
      LaunchConvert(std::min(kPeriod, count - first), buffer().From(first),
                    {wide.data(), DataType::kFloat32}, stream.get());
    }
    stream.Synchronize();
  }

  Buffer buffer() const { return {memory_.data(), type_}; }

 private:
  const DataType type_;
  DeviceMemory memory_;
};

double MillisecondsOf(CublasLt& products, const Product& product,
                      const cublasLtMatmulAlgo_t& algorithm, const CudaStream& stream) {
  const CudaEvent first(CudaEvent::Timing::kOn), last(CudaEvent::Timing::kOn);
  if (!products.TryRun(product, algorithm, stream.get())) return 1e30;
  first.Record(stream);
  for (int i = 0; i < kRuns; ++i) products.TryRun(product, algorithm, stream.get());
  last.Record(stream);
  return MillisecondsBetween(first, last);
}

// The fastest, or the first where that is not clear.
cublasLtMatmulAlgo_t Fastest(CublasLt& products, const Product& product,
                             const std::vector<cublasLtMatmulAlgo_t>& candidates,
                             const CudaStream& stream) {
  size_t best = 0;
  double best_milliseconds = MillisecondsOf(products, product, candidates[0], stream) * kGainMin;
  for (size_t i = 1; i < candidates.size(); ++i) {
    const double milliseconds = MillisecondsOf(products, product, candidates[i], stream);
    if (milliseconds >= best_milliseconds) continue;
    best = i;
    best_milliseconds = milliseconds;
  }
  return candidates[best];
}

// Runs every product of a training step once, on memory of its own.
class StepProducts {
 public:
  StepProducts(const runspec::ModelShape& shape, const runspec::ArenaOptions& arena,
               LinearProducts& linear, const CudaStream& stream)
      : shape_(shape),
        arena_(arena),
        linear_(linear),
        type_(ComputeTypeOf(arena)),
        x_(LargestActivation(), type_, stream),
        y_(LargestActivation(), type_, stream),
        w_(LargestWeight(), type_, stream),
        dw_(LargestWeight(), DataType::kFloat32, stream),
        bias_(4 * shape.channels, type_, stream) {}

  void Run() {
    const int64_t rows = arena_.micro_batch * arena_.sequence;
    const int64_t c = shape_.channels;
    Block({rows, c, 3 * c}, false, false);
    Block({rows, c, c}, false, false);
    Block({rows, c, 4 * c}, true, false);
    Block({rows, 4 * c, c}, false, true);
    const LinearShape head{runspec::HeadRows(arena_), c, shape_.vocabulary_padded};
    linear_.Forward({.shape = head, .y = y_.buffer(), .x = x_.buffer(), .w = w_.buffer()});
    Backward(head, false, false, false);
  }

 private:
  int64_t LargestActivation() const {
    const int64_t rows = arena_.micro_batch * arena_.sequence;
    return std::max(rows * 4 * shape_.channels,
                    runspec::HeadRows(arena_) * shape_.vocabulary_padded);
  }
  int64_t LargestWeight() const {
    return shape_.channels * std::max(4 * shape_.channels, shape_.vocabulary_padded);
  }

  // One of a block's four layers: GELU behind it, or in front of it.
  void Block(const LinearShape& s, bool gelu_behind, bool gelu_before) {
    linear_.Forward({.shape = s,
                     .y = y_.buffer(),
                     .x = x_.buffer(),
                     .w = w_.buffer(),
                     .bias = shape_.bias ? bias_.buffer() : Buffer{},
                     // Overwrites what the next product reads with the same kind of values.
                     .gelu = gelu_behind ? x_.buffer() : Buffer{},
                     .kind = shape_.gelu,
                     .may_be_fp8 = true});
    Backward(s, shape_.bias, gelu_before, true);
  }

  void Backward(const LinearShape& s, bool has_bias, bool gelu_before, bool is_block) {
    for (const bool accumulate : {false, true}) {
      linear_.BackwardWeight({.shape = s,
                              .dw = dw_.buffer().f32(),
                              .dbias = has_bias ? dw_.buffer().f32() : nullptr,
                              .dy = y_.buffer(),
                              .x = x_.buffer(),
                              .accumulate = accumulate});
    }
    linear_.BackwardInput({.shape = s,
                           .dx = x_.buffer(),
                           .dy = y_.buffer(),
                           .w = w_.buffer(),
                           .pre_gelu = gelu_before ? x_.buffer() : Buffer{},
                           .kind = shape_.gelu,
                           .may_be_fp8 = is_block});
  }

  const runspec::ModelShape& shape_;
  const runspec::ArenaOptions& arena_;
  LinearProducts& linear_;
  const DataType type_;
  TuningMemory x_, y_, w_, dw_, bias_;
};

std::string VersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

std::string TuningDevice(const CudaDevice& device) {
  return device.name + ", driver " + VersionText(device.driver) + ", " + CublasLtVersion();
}

GemmChoices TuneGemms(const CudaBackendOptions& options, GemmChoices known) {
  const CudaStream stream;
  CudaWorkspace workspace(options.shape, options.arena);
  CublasLt products(workspace.matmul(), std::move(known));
  products.set_judge([&](const Product& product, const auto& candidates) {
    return Fastest(products, product, candidates, stream);
  });
  LinearProducts linear(products, workspace.scratch(), stream.get(), LinearOptionsOf(options));
  StepProducts step(options.shape, options.arena, linear, stream);
  step.Run();
  stream.Synchronize();
  return products.InUse();
}

}  // namespace gp::engine
