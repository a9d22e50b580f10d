#include "worker/engine/backend/cuda/attention_choice.h"

#include <stdexcept>
#include <utility>

#include "worker/engine/backend/cuda/attention/attention_check.h"
#include "worker/engine/backend/cuda/attention/cudnn_attention.h"
#include "worker/engine/backend/cuda/attention/flash_attention.h"

namespace gp::engine {
namespace {

AttentionShape ShapeOf(const CudaBackendOptions& options) {
  return {.sequences = options.arena.micro_batch,
          .length = options.arena.sequence,
          .heads = options.shape.heads,
          .head_size = options.shape.channels / options.shape.heads};
}

DataType ComputeTypeOf(const runspec::ArenaOptions& arena) {
  if (arena.bf16) return DataType::kBfloat16;
  return arena.fp16 ? DataType::kFloat16 : DataType::kFloat32;
}

class Chooser {
 public:
  Chooser(const CudaBackendOptions& options, const CudaDevice& device, CudaMathAttention& math,
          const CudaStream& stream, ScratchMemory& scratch)
      : options_(options),
        device_(device),
        check_(ShapeOf(options), ComputeTypeOf(options.arena), options.tf32, math, stream),
        scratch_(scratch) {}

  AttentionChoice Choose() {
    if (options_.arena.attention == runspec::Attention::kMath) return {};
    if (options_.arena.attention != runspec::Attention::kOwn) TryCudnn();
    Try(std::make_unique<FlashAttention>(device_.major));
    const bool has_cudnn = !choice_.kernels.empty() && choice_.name != "flash";
    if (choice_.kernels.empty() || (only_cudnn() && !has_cudnn)) Refuse();
    return std::move(choice_);
  }

 private:
  bool only_cudnn() const { return options_.arena.attention == runspec::Attention::kCudnn; }

  void TryCudnn() {
    const CudaSupport support = SupportOf(device_, "cudnn attention");
    if (!support.works) return Note("cudnn attention " + support.reason);
    CudnnAttentionMade made = MakeCudnnAttention({.shape = ShapeOf(options_),
                                                  .type = ComputeTypeOf(options_.arena),
                                                  .deterministic = options_.deterministic},
                                                 scratch_);
    if (made.kernels == nullptr) return Note("cudnn attention " + made.why_not);
    if (const int64_t bytes = made.kernels->device_bytes(); bytes > 0) {
      Note("cudnn attention takes " + std::to_string(bytes) +
           " bytes of device memory, more than the memory plan contains");
      // Before Blackwell, cuDNN's deterministic backward pass writes the gradients of all B*H*T*T
      // scores to memory. The flash kernel has a fixed order of sums without that.
      if (options_.deterministic && !only_cudnn()) return;
    }
    Try(std::move(made.kernels));
  }

  // Keeps the kernels if they agree with math attention.
  void Try(std::unique_ptr<AttentionKernels> kernels) {
    const std::string difference = check_.DifferenceOf(*kernels, scratch_);
    if (!difference.empty()) return Note(std::string(kernels->name()) + " attention " + difference);
    if (choice_.kernels.empty()) choice_.name = kernels->name();
    choice_.kernels.push_back(std::move(kernels));
  }

  void Note(const std::string& note) { choice_.notes.push_back(note); }

  [[noreturn]] void Refuse() const {
    std::string reasons;
    for (const std::string& note : choice_.notes) reasons += note + "; ";
    throw std::invalid_argument(
        "engine.attention does not work on " + device_.name + ": " + reasons +
        "use engine.attention: " + (choice_.kernels.empty() ? "math" : "flash"));
  }

  const CudaBackendOptions& options_;
  const CudaDevice& device_;
  AttentionCheck check_;
  ScratchMemory& scratch_;
  AttentionChoice choice_;
};

}  // namespace

AttentionChoice ChooseAttention(const CudaBackendOptions& options, const CudaDevice& device,
                                CudaMathAttention& math, const CudaStream& stream,
                                ScratchMemory& scratch) {
  return Chooser(options, device, math, stream, scratch).Choose();
}

}  // namespace gp::engine
