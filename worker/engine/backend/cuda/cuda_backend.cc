#include "worker/engine/backend/cuda/cuda_backend.h"

#include <cstring>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "plan/gpu_workspace.h"
#include "worker/engine/backend/cuda/attention/math_attention.h"
#include "worker/engine/backend/cuda/attention_choice.h"
#include "worker/engine/backend/cuda/kernels/adamw.h"
#include "worker/engine/backend/cuda/kernels/attention/cached_attention.h"
#include "worker/engine/backend/cuda/kernels/cross_entropy.h"
#include "worker/engine/backend/cuda/kernels/embedding.h"
#include "worker/engine/backend/cuda/kernels/flat.h"
#include "worker/engine/backend/cuda/kernels/gelu.h"
#include "worker/engine/backend/cuda/kernels/gradient_factor.h"
#include "worker/engine/backend/cuda/kernels/layer_norm.h"
#include "worker/engine/backend/cuda/kernels/layer_norm_backward.h"
#include "worker/engine/backend/cuda/kernels/likeliest.h"
#include "worker/engine/backend/cuda/kernels/residual.h"
#include "worker/engine/backend/cuda/kernels/sum_of_squares.h"
#include "worker/engine/backend/cuda/products/cublas_lt.h"
#include "worker/engine/backend/cuda/products/linear_products.h"
#include "worker/engine/backend/cuda/runtime/cuda_device.h"
#include "worker/engine/backend/cuda/runtime/device_allocations.h"
#include "worker/engine/backend/cuda/runtime/graph_cache.h"
#include "worker/engine/backend/cuda/runtime/runtime.h"
#include "worker/engine/backend/cuda/runtime/scratch_memory.h"
#include "worker/engine/backend/cuda/runtime/time_marks.h"
#include "worker/engine/backend/cuda/runtime/upload_staging.h"

namespace gp::engine {
namespace {

class CudaBackend final : public Backend {
 public:
  CudaBackend(const CudaBackendOptions& options, const CudaDevice& device)
      : name_("cuda " + device.architecture()),
        tokens_below_(options.shape.vocabulary_padded),
        adds_in_products_(options.adds_in_products && !options.fp8),
        workspace_(options.shape, options.arena),
        staging_(stream_),
        graphs_(stream_, options.graphs),
        products_(workspace_.matmul(), options.gemms),
        linear_(products_, workspace_.scratch(), stream_.get(), LinearOptionsOf(options)),
        math_attention_(products_, stream_.get(), options.tf32) {}

  // Graphs and staging memory must not be freed while the device uses them.
  ~CudaBackend() override { static_cast<void>(cudaStreamSynchronize(stream_.get())); }

  // Chooses the kernels for attention without stored scores. A separate step after construction,
  // because checking them runs operations.
  AttentionChoice ChooseAttention(const CudaBackendOptions& options, const CudaDevice& device) {
    AttentionChoice choice = gp::engine::ChooseAttention(options, device, math_attention_, stream_,
                                                         workspace_.scratch());
    attention_ = std::move(choice.kernels);
    return choice;
  }

  const char* name() const override { return name_.c_str(); }
  int threads() const override { return 1; }

  void* Allocate(int64_t bytes) override { return allocations_.Device(bytes); }
  int64_t allocated_bytes() const override {
    int64_t bytes = allocations_.device_bytes() + workspace_.bytes();
    for (const auto& kernels : attention_) bytes += kernels->device_bytes();
    return bytes;
  }
  bool host_reachable() const override { return false; }
  void* AllocateHost(int64_t bytes) override { return allocations_.Host(bytes); }

  void Upload(void* to, const void* from, int64_t bytes) override {
    staging_.Upload(to, from, bytes);
  }
  void Download(void* to, const void* from, int64_t bytes) override {
    CopyToHost(to, from, bytes, stream_);
    stream_.Synchronize();
  }
  void BeginDownload(void* to, const void* from, int64_t bytes) override {
    CopyToHost(to, from, bytes, stream_);
    downloaded_.Record(stream_);
  }
  void AwaitDownload() override { downloaded_.Synchronize(); }
  void Fetch(void* to, const void* from, int64_t bytes) override {
    const std::lock_guard lock(fetch_mutex_);
    CopyToHost(to, from, bytes, fetch_stream_);
    fetch_stream_.Synchronize();
  }
  void Copy(void* to, const void* from, int64_t bytes) override {
    CheckCuda(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice,
                              stream_.get()),
              "cudaMemcpyAsync on the device");
  }
  void* queue() override { return stream_.get(); }
  void Synchronize() override { stream_.Synchronize(); }
  void Replay(const ReplayKey& key, const std::function<void()>& work) override {
    graphs_.Run(key, work);
  }
  void Mark(int slot) override { marks_.Mark(slot, stream_); }
  double MillisecondsBetween(int first, int second) override {
    return marks_.Between(first, second);
  }

  void Forward(const LinearForward& args) override { linear_.Forward(args); }
  bool adds_in_products() const override { return adds_in_products_; }
  void BackwardInput(const LinearBackwardInput& args) override { linear_.BackwardInput(args); }
  void BackwardWeight(const LinearBackwardWeight& args) override { linear_.BackwardWeight(args); }

  void AttentionForward(const AttentionShape& shape, Buffer out, float* lse, Buffer qkv,
                        const Dropout& dropout) override {
    workspace_.scratch().Clear();
    AttentionFor(shape, qkv.type, dropout)
        .Forward({.shape = shape, .out = out, .lse = lse, .qkv = qkv, .dropout = dropout},
                 stream_.get());
  }
  void AttentionForward(const CachedAttention& args) override {
    LaunchCachedAttention(args, stream_.get());
  }
  void AttendRows(const CachedAttention& args, const DecodeRows& rows) override {
    ScratchMemory& scratch = workspace_.scratch();
    scratch.Clear();
    const int64_t parts = CachedAttentionScratch(args, rows.rows);
    const bool splits = parts * 4 + kPartsPadding <= scratch.bytes();
    LaunchCachedAttention(args, rows, splits ? scratch.Allocate<float>(parts) : nullptr,
                          stream_.get());
  }
  void AttentionBackward(const AttentionShape& shape, Buffer dqkv, Buffer dout, Buffer out,
                         const float* lse, Buffer qkv, const Dropout& dropout) override {
    ScratchMemory& scratch = workspace_.scratch();
    scratch.Clear();
    AttentionFor(shape, qkv.type, dropout)
        .Backward({.shape = shape,
                   .dqkv = dqkv,
                   .dout = dout,
                   .out = out,
                   .lse = lse,
                   .qkv = qkv,
                   .dots = scratch.Allocate<float>(shape.sequences * shape.heads * shape.length),
                   .dropout = dropout},
                  stream_.get());
  }
  void Forward(const StoredAttention& args, Buffer out) override {
    math_attention_.Forward(args, out);
  }
  void Backward(const StoredAttention& args, Buffer dqkv, Buffer dout) override {
    math_attention_.Backward(args, dqkv, dout);
  }

  void Forward(const LayerNorm& args) override { LaunchLayerNorm(args, stream_.get()); }
  void Backward(const LayerNormBackward& args) override { BackwardOf({.norm = args}); }
  void ResidualLayerNormBackward(const LayerNormBackward& args,
                                 const BranchGradient& branch) override {
    BackwardOf({.norm = args,
                .dbranch = branch.dbranch,
                .dropout = branch.dropout,
                .dbias = branch.dbias});
  }
  void ResidualLayerNorm(Buffer residual, Buffer in, Buffer branch, const Dropout& dropout,
                         const LayerNorm& args) override {
    LaunchResidualLayerNorm({residual, in, branch, dropout, args}, stream_.get());
  }
  void Residual(int64_t rows, int64_t channels, Buffer out, Buffer in, Buffer branch,
                const Dropout& dropout) override {
    LaunchResidual({rows, channels, out, in, branch, dropout}, stream_.get());
  }
  void ResidualBackward(int64_t rows, int64_t channels, Buffer dbranch, Buffer dout,
                        const Dropout& dropout) override {
    LaunchResidualBackward({rows, channels, dbranch, dout, dropout}, stream_.get());
  }

  void GeluForward(int64_t count, runspec::Gelu kind, Buffer out, Buffer in) override {
    LaunchGeluForward(count, kind, out, in, stream_.get());
  }
  void GeluBackward(int64_t count, runspec::Gelu kind, Buffer dy, Buffer in) override {
    LaunchGeluBackward(count, kind, dy, in, stream_.get());
  }

  void EmbeddingForward(int64_t sequences, int64_t length, int64_t channels, Buffer out,
                        const int32_t* tokens, const float* wte, const float* wpe,
                        const Dropout& dropout) override {
    LaunchEmbeddingForward({.sequences = sequences,
                            .length = length,
                            .channels = channels,
                            .out = out,
                            .tokens = tokens,
                            .wte = wte,
                            .wpe = wpe,
                            .dropout = dropout},
                           stream_.get());
  }
  void EmbedRows(const DecodeRows& rows, int64_t channels, Buffer out, const float* wte,
                 const float* wpe) override {
    LaunchEmbeddingForward({.sequences = rows.rows,
                            .length = 1,
                            .channels = channels,
                            .out = out,
                            .tokens = rows.tokens,
                            .positions = rows.positions,
                            .wte = wte,
                            .wpe = wpe},
                           stream_.get());
  }
  void EmbeddingBackward(int64_t sequences, int64_t length, int64_t channels, float* dwte,
                         float* dwpe, Buffer dout, const int32_t* tokens,
                         const Dropout& dropout) override {
    ScratchMemory& scratch = workspace_.scratch();
    scratch.Clear();
    LaunchEmbeddingBackward(
        {.sequences = sequences,
         .length = length,
         .channels = channels,
         .dwte = dwte,
         .dwpe = dwpe,
         .dout = dout,
         .tokens = tokens,
         .dropout = dropout,
         .tokens_below = tokens_below_},
        scratch.Allocate<std::byte>(EmbeddingBackwardScratch(sequences * length, channels)),
        stream_.get());
  }

  void FindLikeliest(const LikeliestTokens& args) override { LaunchLikeliest(args, stream_.get()); }

  void Forward(const CrossEntropyLoss& args) override {
    LaunchCrossEntropyForward(args, RowLosses(args.shape), stream_.get());
  }
  void Backward(const CrossEntropyGradient& args) override {
    LaunchCrossEntropyBackward(args, stream_.get());
  }
  void ForwardAndBackward(const CrossEntropyLoss& forward,
                          const CrossEntropyGradient& backward) override {
    LaunchCrossEntropy(forward, backward, RowLosses(forward.shape), stream_.get());
  }

  void ComputeGradientFactor(const GradientFactor& args) override {
    LaunchGradientFactor(args, stream_.get());
  }
  void Update(const AdamWUpdate& args) override { LaunchAdamW(args, stream_.get()); }
  void SumOfSquares(double* sum, const float* values, int64_t count) override {
    ScratchMemory& scratch = workspace_.scratch();
    scratch.Clear();
    Zero(sum, sizeof(double));
    LaunchSumOfSquares(sum, values, count, scratch.Allocate<double>(kSumOfSquaresScratch),
                       stream_.get());
  }
  void Zero(void* data, int64_t bytes) override {
    CheckCuda(cudaMemsetAsync(data, 0, static_cast<size_t>(bytes), stream_.get()),
              "cudaMemsetAsync");
  }
  void Round(int64_t count, Buffer out, const float* in,
             const StochasticRounding& rounding) override {
    LaunchRound(count, out, in, rounding, stream_.get());
  }
  void Axpby(int64_t count, float* out, float a, const float* x, float b, const float* y) override {
    LaunchAxpby(count, out, a, x, b, y, stream_.get());
  }

 protected:
  double* scalar() override { return workspace_.scalar(); }

 private:
  static void CopyToHost(void* to, const void* from, int64_t bytes, const CudaStream& stream) {
    CheckCuda(
        cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, stream.get()),
        "cudaMemcpyAsync from the device");
  }
  AttentionKernels& AttentionFor(const AttentionShape& shape, DataType type,
                                 const Dropout& dropout) const {
    for (const auto& kernels : attention_) {
      if (kernels->Takes(shape, type, dropout)) return *kernels;
    }
    throw std::invalid_argument("no attention kernel takes heads of " +
                                std::to_string(shape.head_size) +
                                " channels; use engine.attention: math");
  }
  void BackwardOf(LayerNormBackwardArgs args) {
    workspace_.scratch().Clear();
    args.scratch = workspace_.scratch().Allocate<float>(
        LayerNormBackwardScratch(args.norm.rows, args.norm.channels));
    LaunchLayerNormBackward(args, stream_.get());
  }
  float* RowLosses(const CrossEntropyShape& shape) {
    workspace_.scratch().Clear();
    return workspace_.scratch().Allocate<float>(shape.rows);
  }

  static constexpr int64_t kPartsPadding = 1024;  // alignment inside the scratch memory

  const std::string name_;
  const int64_t tokens_below_;
  const bool adds_in_products_;
  const CudaStream stream_;
  const CudaEvent downloaded_{CudaEvent::Timing::kOff};
  const CudaStream fetch_stream_;
  std::mutex fetch_mutex_;
  DeviceAllocations allocations_;
  CudaWorkspace workspace_;
  UploadStaging staging_;
  GraphCache graphs_;
  TimeMarks marks_;
  CublasLt products_;
  LinearProducts linear_;
  CudaMathAttention math_attention_;
  std::vector<std::unique_ptr<AttentionKernels>> attention_;  // tried in this order for each call
};

void CheckSupport(const CudaDevice& device, const CudaBackendOptions& options) {
  const auto need = [&](bool wanted, const char* feature) {
    const CudaSupport support = SupportOf(device, feature);
    if (wanted && !support.works) {
      throw std::invalid_argument(std::string(feature) + " " + support.reason);
    }
  };
  need(true, "fp32");
  need(options.tf32, "tf32");
  need(options.arena.bf16 && !options.fp8, "bf16");
  need(options.fp8, "fp8");
  need(options.arena.attention == runspec::Attention::kCudnn, "cudnn attention");
}

}  // namespace

LinearOptions LinearOptionsOf(const CudaBackendOptions& options) {
  // With recompute, GELU is computed a second time from the stored values, so the first time must
  // use the stored values too.
  const bool recomputes = options.arena.recompute == runspec::Recompute::kGelu;
  return {.tf32 = options.tf32, .fp8 = options.fp8, .exact_gelu = recomputes};
}

CudaBackendMade MakeCudaBackend(const CudaBackendOptions& options) {
  int index = 0;
  CheckCuda(cudaGetDevice(&index), "cudaGetDevice");
  const CudaDevice device = QueryDevice(index);
  CheckSupport(device, options);
  auto backend = std::make_unique<CudaBackend>(options, device);
  AttentionChoice choice = backend->ChooseAttention(options, device);
  return {std::move(backend), std::move(choice.name), std::move(choice.notes)};
}

}  // namespace gp::engine
