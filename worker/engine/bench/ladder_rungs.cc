#include "worker/engine/bench/ladder_rungs.h"

#include <fmt/format.h>

#include "runspec/training_plan.h"

namespace gp::engine {
namespace {

using Options = LadderSettings&;

LadderRung Rung(std::string name, std::string setting, std::function<void(Options)> change) {
  return {.name = std::move(name), .setting = std::move(setting), .change = std::move(change)};
}

LadderRung NotHere(std::string name, std::string reason) {
  return {.name = std::move(name), .reason = std::move(reason)};
}

void AddModelRungs(std::vector<LadderRung>& ladder, const runspec::ModelShape& shape) {
  ladder.push_back(Rung("library LayerNorm and GELU", "torch::layer_norm, torch::gelu",
                        [](Options o) { o.model.reference.library_operations = true; }));
  ladder.push_back(Rung("causal mask on the fly", "no (context, context) buffer a layer",
                        [](Options o) { o.model.reference.mask_on_the_fly = true; }));
  ladder.push_back(Rung("weight tying", "tie_embeddings: true",
                        [](Options o) { o.model.shape.tied_head = true; }));
  ladder.push_back(Rung("bias off", "bias: false", [](Options o) { o.model.shape.bias = false; }));
  const int64_t padded = shape.vocabulary_padded;
  if (padded == shape.vocabulary) {
    ladder.push_back(NotHere("padded vocabulary", "this vocabulary is a multiple of 64 already"));
  } else {
    ladder.push_back(Rung("padded vocabulary",
                          fmt::format("{} rows for {} ids", padded, shape.vocabulary),
                          [padded](Options o) { o.model.shape.vocabulary_padded = padded; }));
  }
}

void AddEngineRungs(std::vector<LadderRung>& ladder) {
  ladder.push_back(Rung("backward by hand, one arena", "engine.kind: eager, attention: math",
                        [](Options o) { o.model.kind = runspec::EngineKind::kEager; }));
  LadderRung precision = Rung("lower precision", "precision: bf16",
                              [](Options o) { o.model.precision = runspec::Precision::kBf16; });
  precision.only_if_faster = true;
  ladder.push_back(precision);
  ladder.push_back(Rung("fused step", "engine.kind: fused",
                        [](Options o) { o.model.kind = runspec::EngineKind::kFused; }));
  ladder.push_back(Rung("flash attention", "engine.attention: flash",
                        [](Options o) { o.model.attention = runspec::Attention::kFlash; }));
}

void AddMachineRungs(std::vector<LadderRung>& ladder, const LadderMachine& machine) {
  ladder.push_back(Rung("fused AdamW", "engine.fused_optimizer: true",
                        [](Options o) { o.fused_optimizer = true; }));
  ladder.push_back(NotHere(
      "loader threads",
      fmt::format("a batch is put together in {:.3f} ms, too little to hide", machine.fill_ms)));
  ladder.push_back(NotHere("no host syncs", "a CPU has no queue that one would wait for"));
  LadderRung largest =
      Rung("largest batch that fits", "batch.micro_batch: auto",
           [machine](Options o) { o.model.micro_batch = LargestBatch(o.model, machine); });
  largest.only_if_faster = true;
  ladder.push_back(largest);
  if (machine.cores == 1) {
    ladder.push_back(NotHere("all workers", "this machine has one core"));
    return;
  }
  ladder.push_back(Rung("all workers", fmt::format("{} threads of one process", machine.cores),
                        [machine](Options o) { o.model.threads = machine.cores; }));
}

}  // namespace

LadderSettings LadderStart(const ModelOptions& model) {
  LadderSettings start{.model = model, .fused_optimizer = false};
  ModelOptions& options = start.model;
  options.kind = runspec::EngineKind::kReference;
  options.precision = runspec::Precision::kFp32;
  options.attention = runspec::Attention::kMath;
  options.reference = {.library_operations = false, .mask_on_the_fly = false};
  options.shape.tied_head = false;
  options.shape.bias = true;
  options.shape.vocabulary_padded = options.shape.vocabulary;
  options.threads = 1;
  return start;
}

std::vector<LadderRung> MakeLadder(const ModelOptions& model, const LadderMachine& machine) {
  std::vector<LadderRung> ladder;
  ladder.push_back(Rung("reference autograd", "engine.kind: reference", [](Options) {}));
  AddModelRungs(ladder, model.shape);
  AddEngineRungs(ladder);
  AddMachineRungs(ladder, machine);
  return ladder;
}

int64_t LargestBatch(ModelOptions options, const LadderMachine& machine) {
  while (true) {
    ModelOptions larger = options;
    larger.micro_batch *= 2;
    const int64_t bytes = runspec::TrainingBytes(larger.shape, {.arena = ArenaOptionsOf(larger)});
    const bool fits = bytes <= machine.memory_bytes &&
                      larger.micro_batch * larger.sequence <= machine.tokens_per_step_max;
    if (!fits) return options.micro_batch;
    options = larger;
  }
}

}  // namespace gp::engine
