#include "worker/engine/model/make_language_model.h"

#include <stdexcept>
#include <string>

#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/model/gpt2.h"
#include "worker/engine/model/reference_gpt2.h"

namespace gp::engine {
namespace {

void Check(bool fits, const std::string& message) {
  if (!fits) throw std::invalid_argument(message);
}

void CheckSizes(const ModelOptions& options) {
  const runspec::ModelShape& s = options.shape;
  Check(s.layers >= 1 && s.heads >= 1 && s.channels >= 1 && s.context >= 1 && s.vocabulary >= 1,
        "the model needs at least one layer, head, channel, position and token id");
  Check(s.channels % s.heads == 0, "model.channels " + std::to_string(s.channels) +
                                       " is not a multiple of model.heads " +
                                       std::to_string(s.heads));
  Check(s.vocabulary_padded >= s.vocabulary,
        "the padded vocabulary " + std::to_string(s.vocabulary_padded) +
            " is smaller than the vocabulary " + std::to_string(s.vocabulary));
  Check(options.micro_batch >= 1 && options.sequence >= 1 && options.sequence <= s.context,
        "batches of " + std::to_string(options.micro_batch) + " x " +
            std::to_string(options.sequence) + " do not fit a context of " +
            std::to_string(s.context));
  Check(options.residual == runspec::ResidualType::kFp32 ||
            options.precision == runspec::Precision::kBf16,
        "engine.residual: bf16 needs precision: bf16");
  Check(options.chunked_head >= 0, "engine.chunked_head is negative");
}

}  // namespace

ModelOptions ModelOptionsOf(const runspec::RunSpec& spec, int threads) {
  return {.shape = spec.model,
          .kind = spec.engine.kind,
          .precision = spec.precision,
          .micro_batch = spec.batch.micro_batch,
          .sequence = spec.batch.sequence,
          .threads = threads,
          .attention = spec.engine.attention,
          .recompute = spec.engine.recompute,
          .chunked_head = spec.engine.chunked_head,
          .residual = spec.engine.residual};
}

runspec::ArenaOptions ArenaOptionsOf(const ModelOptions& options) {
  return {.micro_batch = options.micro_batch,
          .sequence = options.sequence,
          .bf16 = options.precision == runspec::Precision::kBf16,
          .threads = options.threads,
          .attention = options.attention,
          .recompute = options.recompute,
          .chunked_head = options.chunked_head,
          .residual = options.residual};
}

std::unique_ptr<LanguageModel> MakeLanguageModel(const ModelOptions& options) {
  CheckSizes(options);
  if (options.kind == runspec::EngineKind::kReference) {
    Check(options.precision != runspec::Precision::kBf16,
          "the reference engine computes in fp32; use precision: fp32 or engine.kind: fused");
    Check(options.recompute == runspec::Recompute::kNone && options.chunked_head == 0,
          "the reference engine keeps everything; use engine.recompute: none and "
          "engine.chunked_head: 0, or engine.kind: fused");
    return MakeReferenceGpt2(options.shape, options.threads, options.reference);
  }
  auto backend = MakeCpuBackend({.threads = options.threads,
                                 .isa = options.isa,
                                 .sequence = options.sequence,
                                 .head_size = options.shape.channels / options.shape.heads,
                                 .choices = options.choices});
  return std::make_unique<Gpt2>(Gpt2Options{options.shape, ArenaOptionsOf(options),
                                            options.kind == runspec::EngineKind::kFused},
                                std::move(backend));
}

}  // namespace gp::engine
