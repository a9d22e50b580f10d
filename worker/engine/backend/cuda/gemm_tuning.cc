#include "worker/engine/backend/cuda/gemm_tuning.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "plan/gpu_workspace.h"
#include "worker/engine/backend/cuda/fastest_candidate.h"
#include "worker/engine/backend/cuda/kernels/flat.h"
#include "worker/engine/backend/cuda/products/cublas_lt.h"
#include "worker/engine/backend/cuda/products/linear_products.h"
#include "worker/engine/backend/cuda/runtime/device_allocations.h"
#include "worker/engine/backend/cuda/runtime/runtime.h"

namespace gp::engine {
namespace {

constexpr int kRuns = 4;
// Separate passes must take less than this part of the time with an epilogue; otherwise noise would
// decide.
constexpr double kWholeGainMin = 0.98;

DataType ComputeTypeOf(const runspec::ArenaOptions& arena) {
  if (arena.bf16) return DataType::kBfloat16;
  return arena.fp16 ? DataType::kFloat16 : DataType::kFloat32;
}

// The memory that the products of a step read and write. No product writes its inputs: a timed
// product runs often, and its values must not change.
struct StepOperands {
  Buffer x;      // an activation: only read
  Buffer y;      // a layer's output, and later its gradient
  Buffer z;      // after the GELU, and the gradient of an activation: only written
  Buffer w;      // a weight: only read
  Buffer dw;     // the gradient of a weight, in fp32
  Buffer bias;   // only read
  Buffer dbias;  // the gradient of a bias, in fp32
};

// Copies the first `filled` bytes, doubling them each time, until `bytes` are full.
void Repeat(std::byte* begin, int64_t filled, int64_t bytes, const CudaStream& stream) {
  for (; filled < bytes; filled *= 2) {
    CheckCuda(cudaMemcpyAsync(begin + filled, begin,
                              static_cast<size_t>(std::min(filled, bytes - filled)),
                              cudaMemcpyDeviceToDevice, stream.get()),
              "cudaMemcpyAsync on the device");
  }
}

// Memory that products read, filled with normally distributed values: the power that a tensor core
// draws, and with it the clock, depends on the bits.
class Noise {
 public:
  Noise(int64_t count, DataType type, float deviation, const CudaStream& stream)
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

  Buffer buffer() const { return {memory_.data(), type_}; }

 private:
  static constexpr int64_t kPeriod = 1 << 16;

  static std::vector<float> Values(int64_t count, float deviation) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, deviation);
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = normal(random);
    return values;
  }

  const DataType type_;
  DeviceMemory memory_;
};

// Gigabytes for a large batch, so it is allocated only when something has to be timed.
class StepMemory {
 public:
  StepMemory(const runspec::ModelShape& shape, const runspec::ArenaOptions& arena,
             const CudaStream& stream)
      : x_(LargestActivation(shape, arena), ComputeTypeOf(arena), kActivation, stream),
        y_(std::max(LargestActivation(shape, arena),
                    runspec::HeadRows(arena) * shape.vocabulary_padded),
           ComputeTypeOf(arena), kActivation, stream),
        z_(LargestActivation(shape, arena), ComputeTypeOf(arena), kActivation, stream),
        w_(LargestWeight(shape), ComputeTypeOf(arena), kWeight, stream),
        dw_(LargestWeight(shape), DataType::kFloat32, kWeight, stream),
        bias_(4 * shape.channels, ComputeTypeOf(arena), kWeight, stream),
        dbias_(4 * shape.channels, DataType::kFloat32, kWeight, stream) {}

  StepOperands operands() const {
    return {x_.buffer(),  y_.buffer(),    z_.buffer(),    w_.buffer(),
            dw_.buffer(), bias_.buffer(), dbias_.buffer()};
  }

 private:
  // Standard deviations of activations after a LayerNorm and of weights, as at the start of a
  // training.
  static constexpr float kActivation = 1;
  static constexpr float kWeight = 0.02f;

  static int64_t LargestActivation(const runspec::ModelShape& shape,
                                   const runspec::ArenaOptions& arena) {
    return std::max(arena.micro_batch * arena.sequence * 4, runspec::HeadRows(arena)) *
           shape.channels;
  }
  static int64_t LargestWeight(const runspec::ModelShape& shape) {
    return shape.channels * std::max(4 * shape.channels, shape.vocabulary_padded);
  }

  Noise x_, y_, z_, w_, dw_, bias_, dbias_;
};

// A placeholder with the alignment of device memory; never read or written.
std::byte* PlaceholderAddress() {
  alignas(256) static std::byte placeholder[256];
  return placeholder;
}

StepOperands PlaceholderOperands(const runspec::ArenaOptions& arena) {
  const Buffer computed{PlaceholderAddress(), ComputeTypeOf(arena)};
  const Buffer gradient{PlaceholderAddress(), DataType::kFloat32};
  return {computed, computed, computed, computed, gradient, computed, gradient};
}

// Time per run, after one warm-up run, which also loads the kernel.
double MillisecondsOf(const std::function<void()>& queue, int runs, const CudaStream& stream) {
  const CudaEvent first(CudaEvent::Timing::kOn), last(CudaEvent::Timing::kOn);
  queue();
  first.Record(stream);
  for (int i = 0; i < runs; ++i) queue();
  last.Record(stream);
  return MillisecondsBetween(first, last) / runs;
}

cublasLtMatmulAlgo_t Fastest(CublasLt& products, const Product& product,
                             const std::vector<cublasLtMatmulAlgo_t>& candidates,
                             const CudaStream& stream) {
  const auto time = [&](size_t i, int runs) {
    bool works = true;
    const double milliseconds = MillisecondsOf(
        [&] { works = works && products.TryRun(product, candidates[i], stream.get()); }, runs,
        stream);
    return works ? milliseconds : std::numeric_limits<double>::infinity();
  };
  return candidates[FastestCandidate(candidates.size(), time)];
}

// Runs every product of a training step once.
class StepProducts {
 public:
  StepProducts(const CudaBackendOptions& options, const StepOperands& operands,
               LinearProducts& linear)
      : shape_(options.shape),
        arena_(options.arena),
        adds_(options.adds_in_products && !options.fp8),
        operands_(operands),
        linear_(linear) {}

  void Run() {
    const int64_t rows = arena_.micro_batch * arena_.sequence;
    const int64_t c = shape_.channels;
    Block({.shape = {rows, c, 3 * c}, .sums_dy = true});
    Block({.shape = {rows, c, c}});
    Block({.shape = {rows, c, 4 * c}, .gelu_behind = true});
    Block({.shape = {rows, 4 * c, c}, .gelu_before = true, .adds = adds_});
    const LinearShape head{runspec::HeadRows(arena_), c, shape_.vocabulary_padded};
    linear_.Forward({.shape = head, .y = operands_.y, .x = operands_.x, .w = operands_.w});
    BackwardWeight(head, nullptr);
    linear_.BackwardInput({.shape = head, .dx = operands_.z, .dy = operands_.y, .w = operands_.w});
  }

 private:
  // One of a block's four layers. The gradient of its bias is summed with the gradient of its
  // weight (sums_dy), or, for the layer before a GELU, with the next layer's dx, or by LayerNorm,
  // as in the fused engine. The eager engine's products with sums of dy are not tuned.
  struct Layer {
    LinearShape shape;
    bool gelu_behind = false;
    bool gelu_before = false;
    bool sums_dy = false;
    bool adds = false;
  };

  void Block(const Layer& layer) {
    const LinearShape& s = layer.shape;
    float* dbias = shape_.bias ? operands_.dbias.f32() : nullptr;
    if (layer.adds) {
      ForwardAndAdd(s);
    } else {
      linear_.Forward({.shape = s,
                       .y = operands_.y,
                       .x = operands_.x,
                       .w = operands_.w,
                       .bias = shape_.bias ? operands_.bias : Buffer{},
                       .gelu = layer.gelu_behind ? operands_.z : Buffer{},
                       .kind = shape_.gelu,
                       .may_be_fp8 = true});
    }
    BackwardWeight(s, layer.sums_dy ? dbias : nullptr);
    linear_.BackwardInput({.shape = s,
                           .dx = operands_.z,
                           .dy = operands_.y,
                           .w = operands_.w,
                           .pre_gelu = layer.gelu_before ? operands_.x : Buffer{},
                           .kind = shape_.gelu,
                           .may_be_fp8 = true,
                           .dbias = layer.gelu_before ? dbias : nullptr});
  }

  // y and what it adds lie in z, which has room for four activations of the compute type.
  void ForwardAndAdd(const LinearShape& s) {
    const bool is_bf16 = arena_.residual == runspec::ResidualType::kBf16;
    const DataType type = is_bf16 ? DataType::kBfloat16 : DataType::kFloat32;
    const Buffer y{operands_.z.data, type};
    linear_.Forward(
        {.shape = s,
         .y = y,
         .x = operands_.x,
         .w = operands_.w,
         .bias = shape_.bias ? (is_bf16 ? operands_.bias : Fp32(operands_.dbias.f32())) : Buffer{},
         .added = y.From(s.rows * s.out)});
  }

  void BackwardWeight(const LinearShape& s, float* dbias) {
    for (const bool accumulate : {false, true}) {
      linear_.BackwardWeight({.shape = s,
                              .dw = operands_.dw.f32(),
                              .dbias = dbias,
                              .dy = operands_.y,
                              .x = operands_.x,
                              .accumulate = accumulate});
    }
  }

  const runspec::ModelShape& shape_;
  const runspec::ArenaOptions& arena_;
  const bool adds_;
  const StepOperands operands_;
  LinearProducts& linear_;
};

// The choices that a step uses, with cuBLASLt's defaults for missing ones. Computes nothing.
GemmChoices UsedBy(const CudaBackendOptions& options, const GemmChoices& known) {
  CublasLt products(PlaceholderAddress(), known);
  ScratchMemory scratch(
      PlaceholderAddress(),
      runspec::GpuWorkspacePieceOf(options.shape, options.arena, "scratch").size_bytes);
  LinearOptions linear_options = LinearOptionsOf(options);
  linear_options.dry = true;
  LinearProducts linear(products, scratch, nullptr, linear_options);
  StepProducts(options, PlaceholderOperands(options.arena), linear).Run();
  return products.InUse();
}

// Times all products of a step and returns the choices. They include products with an epilogue that
// turned out slower than separate passes.
GemmChoices Timed(const CudaBackendOptions& options, const GemmChoices& known) {
  const CudaStream stream;
  CudaWorkspace workspace(options.shape, options.arena);
  CublasLt products(workspace.matmul(), known);
  products.set_judge([&](const Product& product, const auto& candidates) {
    return Fastest(products, product, candidates, stream);
  });
  LinearProducts linear(products, workspace.scratch(), stream.get(), LinearOptionsOf(options));
  // Prefers the product with its epilogue, which needs fewer launches, unless the separate passes
  // are clearly faster.
  linear.set_judge([&](const auto& whole, const auto& apart) {
    return MillisecondsOf(whole, kRuns, stream) * kWholeGainMin <=
           MillisecondsOf(apart, kRuns, stream);
  });
  const StepMemory memory(options.shape, options.arena, stream);
  StepProducts(options, memory.operands(), linear).Run();
  stream.Synchronize();
  return products.InUse();
}

std::string VersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

std::string TuningDevice(const CudaDevice& device) {
  return device.name + ", driver " + VersionText(device.driver) + ", " + CublasLtVersion();
}

GemmChoices TuneGemms(const CudaBackendOptions& options, GemmChoices known) {
  const GemmChoices used = UsedBy(options, known);
  if (known.Covers(used)) return used;
  known.Add(Timed(options, known));
  return UsedBy(options, known);
}

}  // namespace gp::engine
