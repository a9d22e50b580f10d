#include "worker/engine/backend/cpu/cpu_backend.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "plan/arena_plan.h"
#include "worker/engine/backend/cpu/gemm.h"
#include "worker/engine/backend/cpu/huge_pages.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/cpu/kernels/tiles.h"
#include "worker/engine/backend/cpu/math_attention.h"
#include "worker/engine/backend/cpu/mirror.h"
#include "worker/engine/backend/cpu/packed_gemm.h"
#include "worker/engine/backend/cpu/thread_pool.h"
#include "worker/engine/backend/gradient_factor.h"

namespace gp::engine {
namespace {

constexpr int64_t kLineFloats = 16;       // arrays are divided among threads at cache lines
constexpr int64_t kCopyGrain = 64 << 10;  // bytes
constexpr int64_t kRowsGrain = 8192;      // with fewer elements, rows stay on one thread
constexpr int64_t kFlatGrain = 4096;      // elements: a thread's smallest piece of a flat loop
constexpr int64_t kMirrorGrain = 64;      // rows of a symmetric matrix
constexpr int64_t kNormBlocksMax = 4096;  // at most this many partial sums of a norm
constexpr int64_t kNormBlockMin = 16384;

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const CpuBackendOptions& options)
      : isa_(ResolveIsa(options.isa)),
        kernels_(KernelsOf(isa_, options.tiles)),
        pool_(options.threads),
        thread_bytes_(
            runspec::CpuWorkspaceBytes(options.sequence, options.head_size, pool_.threads()) /
            pool_.threads()),
        own_workspace_(HugePages(pool_.threads() * thread_bytes_)),
        workspace_(static_cast<std::byte*>(own_workspace_->data())),
        gemm_(kernels_, pool_, workspace_, thread_bytes_, options.choices),
        math_attention_(kernels_, pool_, gemm_) {
    if (pool_.threads() == 1) return;
    for (int thread = 0; thread < pool_.threads(); ++thread) {
      lanes_.push_back(std::make_unique<CpuBackend>(*this, thread, options.choices));
    }
  }

  // A lane of `owner`, in the workspace of the owner's thread.
  CpuBackend(const CpuBackend& owner, int thread, const KernelChoices& choices)
      : isa_(owner.isa_),
        kernels_(owner.kernels_),
        pool_(1),
        thread_bytes_(owner.thread_bytes_),
        workspace_(owner.workspace_ + thread * thread_bytes_),
        gemm_(kernels_, pool_, workspace_, thread_bytes_, choices),
        math_attention_(kernels_, pool_, gemm_) {}

  const char* name() const override {
    const bool twin = isa_ == Isa::kAmx && kernels_.tiles == &TwinTiles();
    return twin ? "amx_twin" : IsaName(isa_);
  }
  int threads() const override { return pool_.threads(); }

  void* Allocate(int64_t bytes) override {
    allocations_.emplace_back(bytes);
    allocated_bytes_ += bytes;
    return allocations_.back().data();
  }
  int64_t allocated_bytes() const override {
    return pool_.threads() * thread_bytes_ + allocated_bytes_;
  }
  bool host_reachable() const override { return true; }
  void* AllocateHost(int64_t bytes) override { return Allocate(bytes); }

  void Upload(void* to, const void* from, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  void Download(void* to, const void* from, int64_t bytes) override {
    pool_.For(bytes, kCopyGrain, [&](int64_t first, int64_t last) {
      std::memcpy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                  static_cast<size_t>(last - first));
    });
  }
  void BeginDownload(void* to, const void* from, int64_t bytes) override {
    Download(to, from, bytes);
  }
  void AwaitDownload() override {}
  void Fetch(void* to, const void* from, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  void Copy(void* to, const void* from, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  void Synchronize() override {}
  void Replay(const ReplayKey&, const std::function<void()>& work) override { work(); }

  void Mark(int slot) override {
    if (marks_.size() <= static_cast<size_t>(slot)) marks_.resize(static_cast<size_t>(slot) + 1);
    marks_[static_cast<size_t>(slot)] = std::chrono::steady_clock::now();
  }
  double MillisecondsBetween(int first, int second) override {
    return std::chrono::duration<double, std::milli>(marks_.at(static_cast<size_t>(second)) -
                                                     marks_.at(static_cast<size_t>(first)))
        .count();
  }

  void Forward(const LinearForward& args) override {
    const LinearShape& s = args.shape;
    gemm_.Run(
        {.m = s.rows,
         .n = s.out,
         .k = s.in,
         .a = {args.x, s.in, true},
         .b = {args.w, s.in, true},
         .output =
             {.y = args.y, .ldy = s.out, .bias = args.bias, .gelu = args.gelu, .kind = args.kind},
         .b_packed = args.w_packed});
  }

  void Pack(const WeightRows& args) override { PackWeight(kernels_, pool_, args); }

  void BackwardInput(const LinearBackwardInput& args) override {
    const LinearShape& s = args.shape;
    gemm_.Run(
        {.m = s.rows,
         .n = s.in,
         .k = s.out,
         .a = {args.dy, s.out, true},
         .b = {args.w, s.in, false},
         .output = {.y = args.dx, .ldy = s.in, .pre_gelu = args.pre_gelu, .kind = args.kind}});
    SumColumns(args.dx, s.rows, s.in, args.dbias, args.accumulate_bias);
  }

  void BackwardWeight(const LinearBackwardWeight& args) override {
    const LinearShape& s = args.shape;
    gemm_.Run({.m = s.out,
               .n = s.in,
               .k = s.rows,
               .a = {args.dy, s.out, false},
               .b = {args.x, s.in, false},
               .output = {.y = {args.dw, DataType::kFloat32}, .ldy = s.in},
               .accumulate = args.accumulate});
    SumColumns(args.dy, s.rows, s.out, args.dbias, args.accumulate);
  }

  void Multiply(const SymmetricProduct& args) override {
    const int64_t ld = args.transposed ? args.size : args.depth;
    gemm_.Run({.m = args.size,
               .n = args.size,
               .k = args.depth,
               .a = {Fp32(args.a), ld, !args.transposed},
               .b = {Fp32(args.b), ld, !args.transposed},
               .output = {.y = Fp32(args.c), .ldy = args.size},
               .lower_half = true});
    pool_.For(args.size, kMirrorGrain, [&](int64_t first, int64_t last) {
      MirrorLowerHalf(args.c, args.size, first, last);
    });
  }

  int lanes() const override { return pool_.threads(); }
  void ForEach(int64_t count, const LaneWork& work) override {
    if (lanes_.empty()) return Backend::ForEach(count, work);
    std::atomic<int64_t> next{0};
    pool_.Run([&](int part) {
      CpuBackend& lane = *lanes_[static_cast<size_t>(part)];
      for (int64_t index = next++; index < count; index = next++) work(lane, part, index);
    });
  }

  void AttentionForward(const AttentionShape& shape, Buffer out, float* lse, Buffer qkv,
                        const Dropout& dropout) override {
    ForHeads(shape, [&](int64_t head, float* scratch) {
      kernels_.attention_forward(shape, out, lse, qkv, dropout, head, scratch);
    });
  }

  void AttentionForward(const CachedAttention& args) override {
    const auto heads = std::ssize(args.sequences) * args.heads;
    const int64_t stride = CachedAttention::ScratchFloats(args.cache.capacity, args.head_size);
    pool_.Run([&](int thread) {
      float* scratch = args.scratch + thread * stride;
      const int64_t last = heads * (thread + 1) / pool_.threads();
      for (int64_t i = heads * thread / pool_.threads(); i < last; ++i) {
        const CacheRows& rows = args.sequences[static_cast<size_t>(i / args.heads)];
        kernels_.cached_attention(args, rows, i % args.heads, scratch);
      }
    });
  }

  void AttentionBackward(const AttentionShape& shape, Buffer dqkv, Buffer dout, Buffer out,
                         const float* lse, Buffer qkv, const Dropout& dropout) override {
    ForHeads(shape, [&](int64_t head, float* scratch) {
      kernels_.attention_backward(shape, dqkv, dout, out, lse, qkv, dropout, head, scratch);
    });
  }

  void Forward(const StoredAttention& args, Buffer out) override {
    math_attention_.Forward(args, out);
  }
  void Backward(const StoredAttention& args, Buffer dqkv, Buffer dout) override {
    math_attention_.Backward(args, dqkv, dout);
  }

  void Forward(const LayerNorm& args) override {
    ForRows(args.rows, args.channels,
            [&](int64_t first, int64_t last) { kernels_.layer_norm(args, first, last); });
  }

  void Backward(const LayerNormBackward& args) override {
    if (args.dgamma != nullptr) {
      pool_.For(args.channels, kLineFloats, [&](int64_t first, int64_t last) {
        kernels_.layer_norm_backward_parameters(args, first, last);
      });
    }
    pool_.For(args.rows, 1, [&](int64_t first, int64_t last) {
      kernels_.layer_norm_backward_input(args, first, last);
    });
  }

  void ResidualLayerNormBackward(const LayerNormBackward& args,
                                 const BranchGradient& branch) override {
    Backward(args);
    ResidualBackward(args.rows, args.channels, branch.dbranch, args.din, branch.dropout);
    SumColumns(branch.dbranch, args.rows, args.channels, branch.dbias, args.accumulate_parameters);
  }

  void ResidualLayerNorm(Buffer residual, Buffer in, Buffer branch, const Dropout& dropout,
                         const LayerNorm& args) override {
    const ResidualAddition addition{args.channels, residual, in, branch, dropout};
    ForRows(args.rows, args.channels, [&](int64_t first, int64_t last) {
      kernels_.residual_layer_norm(addition, args, first, last);
    });
  }

  void Residual(int64_t rows, int64_t channels, Buffer out, Buffer in, Buffer branch,
                const Dropout& dropout) override {
    const ResidualAddition addition{channels, out, in, branch, dropout};
    pool_.For(rows, 1,
              [&](int64_t first, int64_t last) { kernels_.residual(addition, first, last); });
  }

  void ResidualBackward(int64_t rows, int64_t channels, Buffer dbranch, Buffer dout,
                        const Dropout& dropout) override {
    pool_.For(rows, 1, [&](int64_t first, int64_t last) {
      kernels_.residual_backward(dbranch, dout, channels, dropout, first, last);
    });
  }

  void GeluForward(int64_t count, runspec::Gelu kind, Buffer out, Buffer in) override {
    pool_.For(count, kFlatGrain,
              [&](int64_t first, int64_t last) { kernels_.gelu(kind, out, in, first, last); });
  }

  void GeluBackward(int64_t count, runspec::Gelu kind, Buffer dy, Buffer in) override {
    pool_.For(count, kFlatGrain, [&](int64_t first, int64_t last) {
      kernels_.gelu_backward(kind, dy, in, first, last);
    });
  }

  void EmbeddingForward(int64_t sequences, int64_t length, int64_t channels, Buffer out,
                        const int32_t* tokens, const float* wte, const float* wpe,
                        const Dropout& dropout) override {
    const EmbeddingArgs args{sequences * length, length, channels, tokens, dropout};
    pool_.For(args.rows, 1, [&](int64_t first, int64_t last) {
      kernels_.embedding(args, out, wte, wpe, first, last);
    });
  }

  void EmbeddingBackward(int64_t sequences, int64_t length, int64_t channels, float* dwte,
                         float* dwpe, Buffer dout, const int32_t* tokens,
                         const Dropout& dropout) override {
    const EmbeddingArgs args{sequences * length, length, channels, tokens, dropout};
    pool_.For(channels, kLineFloats, [&](int64_t first, int64_t last) {
      kernels_.embedding_backward(args, dwte, dwpe, dout, first, last);
    });
  }

  void Forward(const CrossEntropyLoss& args) override {
    const CrossEntropyShape& shape = args.shape;
    pool_.For(shape.rows, 1, [&](int64_t first, int64_t last) {
      kernels_.cross_entropy(shape, args.lse, args.logits, first, last);
    });
    double sum = 0;
    for (int64_t row = 0; row < shape.rows; ++row) {
      if (args.targets[row] < 0) continue;
      sum += static_cast<double>(args.lse[row]) -
             Element(args.logits, row * shape.columns + args.targets[row]);
    }
    *args.loss += sum;
  }

  void Backward(const CrossEntropyGradient& args) override {
    const float scale = args.loss_scale == nullptr ? args.scale : args.scale * *args.loss_scale;
    pool_.For(args.shape.rows, 1, [&](int64_t first, int64_t last) {
      kernels_.cross_entropy_backward(args.shape, args.logits, args.lse, args.targets, scale, first,
                                      last);
    });
  }

  void ComputeGradientFactor(const GradientFactor& args) override { *args.factor = FactorOf(args); }

  void Update(const AdamWUpdate& args) override {
    if (args.factor != nullptr && std::isnan(*args.factor)) return;
    pool_.For(args.count, kFlatGrain,
              [&](int64_t first, int64_t last) { kernels_.adamw(args, first, last); });
  }

  void SumOfSquares(double* sum, const float* values, int64_t count) override {
    const int64_t block = std::max(kNormBlockMin, (count + kNormBlocksMax - 1) / kNormBlocksMax);
    const int64_t blocks = (count + block - 1) / block;
    pool_.For(blocks, 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        block_sums_[static_cast<size_t>(i)] =
            kernels_.sum_of_squares(values + i * block, std::min(block, count - i * block));
      }
    });
    *sum = 0;
    for (int64_t i = 0; i < blocks; ++i) *sum += block_sums_[static_cast<size_t>(i)];
  }

  void Zero(void* data, int64_t bytes) override {
    pool_.For(bytes, kFlatGrain, [&](int64_t first, int64_t last) {
      std::fill_n(static_cast<std::byte*>(data) + first, last - first, std::byte{0});
    });
  }

  void Round(int64_t count, Buffer out, const float* in,
             const StochasticRounding& rounding) override {
    pool_.For(count, kFlatGrain, [&](int64_t first, int64_t last) {
      kernels_.round(out.bf16(), in, rounding, first, last);
    });
  }

  void Axpby(int64_t count, float* out, float a, const float* x, float b, const float* y) override {
    pool_.For(count, kFlatGrain,
              [&](int64_t first, int64_t last) { kernels_.axpby(out, a, x, b, y, first, last); });
  }

 protected:
  double* scalar() override { return &scalar_; }

 private:
  // sums (columns) (+)= the column sums of `in`; does nothing if `sums` is null.
  void SumColumns(Buffer in, int64_t rows, int64_t columns, float* sums, bool accumulate) {
    if (sums == nullptr) return;
    pool_.For(columns, 4 * kLineFloats, [&](int64_t first, int64_t last) {
      kernels_.column_sums(in, rows, columns, sums, accumulate, first, last);
    });
  }

  // If there are few rows, the calling thread computes them alone: waking the other threads would
  // take longer.
  template <typename Body>
  void ForRows(int64_t rows, int64_t channels, const Body& body) {
    pool_.For(rows, rows * channels < kRowsGrain ? std::max(rows, int64_t{1}) : 1, body);
  }

  static double Element(Buffer buffer, int64_t index) {
    if (buffer.type == DataType::kFloat32) return buffer.f32()[index];
    const uint32_t bits = uint32_t{buffer.bf16()[index]} << 16;
    float value;
    std::copy_n(reinterpret_cast<const char*>(&bits), sizeof(value),
                reinterpret_cast<char*>(&value));
    return value;
  }

  template <typename Body>
  void ForHeads(const AttentionShape& shape, const Body& body) {
    const int64_t heads = shape.sequences * shape.heads;
    pool_.Run([&](int thread) {
      auto* scratch = reinterpret_cast<float*>(workspace_ + thread * thread_bytes_);
      const int64_t last = heads * (thread + 1) / pool_.threads();
      for (int64_t head = heads * thread / pool_.threads(); head < last; ++head) {
        body(head, scratch);
      }
    });
  }

  const Isa isa_;
  const KernelSet& kernels_;
  ThreadPool pool_;
  const int64_t thread_bytes_;
  const std::optional<HugePages> own_workspace_;  // absent in a lane
  std::byte* const workspace_;
  Gemm gemm_;
  MathAttention math_attention_;
  std::vector<std::unique_ptr<CpuBackend>> lanes_;  // by thread; empty with one thread
  std::array<double, kNormBlocksMax> block_sums_{};
  double scalar_ = 0;
  std::vector<std::chrono::steady_clock::time_point> marks_;
  std::vector<HugePages> allocations_;
  int64_t allocated_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Backend> MakeCpuBackend(const CpuBackendOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

}  // namespace gp::engine
