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
  Check(options.residual == runspec::ResidualType::kFp32 || ArenaOptionsOf(options).bf16,
        "engine.residual: bf16 needs precision: bf16");
  Check(options.chunked_head >= 0, "engine.chunked_head is negative");
}

void CheckCpu(const ModelOptions& options) {
  const auto refuse = [](bool wanted, const std::string& what, const std::string& instead) {
    Check(!wanted, what + " needs a GPU; on a CPU use " + instead);
  };
  const std::string instead = "precision: fp32 or bf16";
  refuse(options.precision == runspec::Precision::kTf32, "precision: tf32", instead);
  refuse(options.precision == runspec::Precision::kFp16, "precision: fp16", instead);
  refuse(options.precision == runspec::Precision::kFp8, "precision: fp8", instead);
  refuse(options.attention == runspec::Attention::kCudnn, "engine.attention: cudnn",
         "engine.attention: flash");
}

void CheckReference(const ModelOptions& options) {
  Check(!options.device.on, "the reference engine computes on CPUs; use engine.kind: fused");
  Check(options.precision == runspec::Precision::kFp32 ||
            options.precision == runspec::Precision::kAuto,
        "the reference engine computes in fp32; use precision: fp32 or engine.kind: fused");
  Check(options.recompute == runspec::Recompute::kNone && options.chunked_head == 0,
        "the reference engine keeps all activations; use engine.recompute: none and "
        "engine.chunked_head: 0, or engine.kind: fused");
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
          .residual = spec.engine.residual,
          .device = {.on = spec.resources.device == "gpu",
                     .graph = spec.engine.graph,
                     .deterministic = spec.IsDeterministic()},
          .trained = runspec::TrainedPartsOf(spec)};
}

runspec::ArenaOptions ArenaOptionsOf(const ModelOptions& options) {
  return runspec::WithPrecision(
      options.precision,
      {.micro_batch = options.micro_batch,
       .sequence = options.sequence,
       .threads = options.threads,
       .attention = options.attention,
       .recompute = options.recompute,
       .chunked_head = options.chunked_head,
       .residual = options.residual,
       .forward_only_blocks = runspec::ForwardOnlyBlocks(options.shape, options.trained),
       .on_gpu = options.device.on});
}

DeviceBackend MakeBackend(const ModelOptions& options) {
  if (options.device.on) {
    return MakeDeviceBackend({.shape = options.shape,
                              .arena = ArenaOptionsOf(options),
                              .precision = options.precision,
                              .deterministic = options.device.deterministic,
                              .graph = options.device.graph,
                              .tuning = options.device.tuning});
  }
  CheckCpu(options);
  return {.backend = MakeCpuBackend({.threads = options.threads,
                                     .isa = options.isa,
                                     .tiles = options.tiles,
                                     .sequence = options.sequence,
                                     .head_size = options.shape.channels / options.shape.heads,
                                     .choices = options.choices})};
}

ModelOptions WithoutTraining(ModelOptions options) {
  options.attention = runspec::Attention::kMath;
  options.device.deterministic = true;
  return options;
}

std::unique_ptr<LanguageModel> MakeLanguageModel(const ModelOptions& options,
                                                 DeviceChoices* choices) {
  CheckSizes(options);
  if (options.kind == runspec::EngineKind::kReference) {
    CheckReference(options);
    return MakeReferenceGpt2(options.shape, options.threads, options.reference, options.trained);
  }
  DeviceBackend made = MakeBackend(options);
  if (choices != nullptr) *choices = made.choices;
  return std::make_unique<Gpt2>(
      Gpt2Options{options.shape, ArenaOptionsOf(options),
                  options.kind == runspec::EngineKind::kFused, options.trained},
      std::move(made.backend));
}

}  // namespace gp::engine
