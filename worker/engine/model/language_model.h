// LanguageModel: the interface of a GPT-2 for the trainer, evaluation and sampling.
// Implementations: Gpt2 over a Backend (eager, fused), and the torch::nn reference. Owns its
// parameters and activations. Standard library only; errors are exceptions. One thread calls.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "plan/model_shape.h"
#include "worker/engine/backend/backend.h"

namespace gp::engine {

// Token ids of one forward pass, row-major (sequences, length). Targets are the ids that should
// follow; -1 is ignored.
struct TokenBatch {
  std::span<const int32_t> tokens;
  std::span<const int32_t> targets;  // empty for sampling
  int64_t sequences = 0;             // B
  int64_t length = 0;                // T <= context
};

// Backward calls it, before it returns, when elements [first, last) of the gradient are final; on a
// device, when the work that makes them final is in the queue.
using GradientReady = std::function<void(int64_t first, int64_t last)>;

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  virtual const runspec::ModelShape& shape() const = 0;
  virtual const runspec::ParameterLayout& layout() const = 0;

  // The flat fp32 master parameters, layout().total_count elements of backend memory, like the
  // working copy and the gradients: the host reads and writes them through the backend, unless
  // host_reachable() is true. After writing to them call ParametersChanged, which refreshes the
  // working copy.
  virtual std::span<float> parameters() = 0;
  virtual void ParametersChanged() = 0;
  // The working copy in the compute type, same layout; empty in fp32. An optimizer that writes it
  // needs no ParametersChanged.
  virtual std::span<uint16_t> working_copy() = 0;
  // The type of activations and of the working copy.
  virtual DataType compute_type() const { return DataType::kFloat32; }

  // The backend of the model; the optimizer runs on it too.
  virtual Backend& backend() = 0;

  // Announces the arguments of the Backward that will follow the next Forward. Optional: an engine
  // that computes its head in pieces (chunked_head) uses it to compute each piece once, gradient
  // included, instead of a second time in Backward. `gradients` may then change from Forward on.
  virtual void ExpectBackward(float gradient_scale, std::span<float> gradients, bool accumulate) {
    (void)gradient_scale, (void)gradients, (void)accumulate;
  }

  // For fp16: Backward multiplies its gradients by *loss_scale, which is in backend memory and read
  // when the pass runs. nullptr, the default, stands for 1.
  virtual void set_loss_scale(const float* loss_scale) { (void)loss_scale; }

  // Runs the model with activations kept for Backward and returns the sum (not the mean) of the
  // token losses in nats.
  virtual double Forward(const TokenBatch& batch, const Dropout& dropout) = 0;

  // The same, adding the sum to *loss in backend memory, without waiting. The caller may change the
  // batch on return.
  virtual void ForwardInto(const TokenBatch& batch, const Dropout& dropout, double* loss) {
    *loss += Forward(batch, dropout);
  }

  // Gradients of gradient_scale * (the sum that the last Forward returned), overwriting `gradients`
  // or adding to it. Same layout as the parameters; alignment gaps are zero, and frozen tensors'
  // are not touched. REQUIRES: a Forward with targets came right before. `ready`, unless it is
  // empty, is called on this thread, exactly once for each element of a trained tensor, in an order
  // that depends only on the layout.
  virtual void Backward(float gradient_scale, std::span<float> gradients, bool accumulate,
                        const GradientReady& ready) = 0;

  // The sum of token losses without dropout; keeps nothing for Backward.
  virtual double Loss(const TokenBatch& batch) = 0;

  // The same for each sequence: losses[b] is the sum over sequence b. REQUIRES: as many losses as
  // sequences.
  virtual void SequenceLosses(const TokenBatch& batch, std::span<double> losses) {
    const auto length = static_cast<size_t>(batch.length);
    for (size_t b = 0; b < losses.size(); ++b) {
      losses[b] = Loss({batch.tokens.subspan(b * length, length),
                        batch.targets.subspan(b * length, length), 1, batch.length});
    }
  }

  // Logits of the token after the last one of each sequence: (sequences, vocabulary) fp32, padding
  // columns left out.
  virtual void NextTokenLogits(const TokenBatch& batch, std::span<float> logits) = 0;
};

}  // namespace gp::engine
