#include "worker/bench/ladder_rungs.h"

#include <fmt/format.h>

#include "plan/training_plan.h"

namespace gp::engine {
namespace {

using Options = LadderSettings&;

LadderRung Rung(std::string name, std::string setting, std::function<void(Options)> change) {
  return {.name = std::move(name), .setting = std::move(setting), .change = std::move(change)};
}

LadderRung NotHere(std::string name, std::string reason) {
  return {.name = std::move(name), .reason = std::move(reason)};
}

LadderRung IfFaster(LadderRung rung) {
  rung.only_if_faster = true;
  return rung;
}

void AddReferenceRungs(std::vector<LadderRung>& ladder) {
  ladder.push_back(Rung("reference autograd", "engine.kind: reference", [](Options) {}));
  ladder.push_back(Rung("library LayerNorm and GELU", "torch::layer_norm, torch::gelu",
                        [](Options o) { o.model.reference.library_operations = true; }));
  ladder.push_back(Rung("causal mask on the fly", "no (context, context) buffer a layer",
                        [](Options o) { o.model.reference.mask_on_the_fly = true; }));
}

void AddShapeRungs(std::vector<LadderRung>& ladder, const runspec::ModelShape& shape) {
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
  ladder.push_back(IfFaster(Rung("lower precision", "precision: bf16", [](Options o) {
    o.model.precision = runspec::Precision::kBf16;
  })));
  ladder.push_back(Rung("fused step", "engine.kind: fused",
                        [](Options o) { o.model.kind = runspec::EngineKind::kFused; }));
  ladder.push_back(Rung("flash attention", "engine.attention: flash",
                        [](Options o) { o.model.attention = runspec::Attention::kFlash; }));
}

LadderRung LargestBatchRung(const LadderMachine& machine) {
  return IfFaster(Rung("largest batch that fits", "batch.micro_batch: auto", [machine](Options o) {
    o.model.micro_batch = LargestBatch(o.model, machine);
  }));
}

LadderRung PrecisionRung(std::string name, std::string setting, runspec::Precision precision) {
  return IfFaster(Rung(std::move(name), std::move(setting),
                       [precision](Options o) { o.model.precision = precision; }));
}

void AddDeviceRungs(std::vector<LadderRung>& ladder, const LadderMachine& machine) {
  ladder.push_back(PrecisionRung("TF32 products", "precision: tf32", runspec::Precision::kTf32));
  ladder.push_back(PrecisionRung("bf16", "precision: bf16", runspec::Precision::kBf16));
  ladder.push_back(Rung("fused step", "engine.kind: fused",
                        [](Options o) { o.model.kind = runspec::EngineKind::kFused; }));
  ladder.push_back(Rung("fused AdamW", "engine.fused_optimizer: true",
                        [](Options o) { o.fused_optimizer = true; }));
  ladder.push_back(Rung("flash attention", "engine.attention: flash",
                        [](Options o) { o.model.attention = runspec::Attention::kFlash; }));
  ladder.push_back(
      Rung("CUDA graphs", "engine.graph: true", [](Options o) { o.model.device.graph = true; }));
  ladder.push_back(IfFaster(Rung("algorithms by timing", "deterministic: false",
                                 [](Options o) { o.model.device.deterministic = false; })));
  ladder.push_back(PrecisionRung("FP8 products", "precision: fp8", runspec::Precision::kFp8));
  ladder.push_back(LargestBatchRung(machine));
}

void AddMachineRungs(std::vector<LadderRung>& ladder, const LadderMachine& machine) {
  ladder.push_back(Rung("fused AdamW", "engine.fused_optimizer: true",
                        [](Options o) { o.fused_optimizer = true; }));
  ladder.push_back(NotHere(
      "loader threads",
      fmt::format("building a batch takes {:.3f} ms, too little to hide", machine.fill_ms)));
  ladder.push_back(NotHere("no host syncs", "a CPU has no queue to wait for"));
  ladder.push_back(LargestBatchRung(machine));
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
  options.kind = model.device.on ? runspec::EngineKind::kEager : runspec::EngineKind::kReference;
  options.precision = runspec::Precision::kFp32;
  options.attention = runspec::Attention::kMath;
  options.reference = {.library_operations = false, .mask_on_the_fly = false};
  options.shape.tied_head = false;
  options.shape.bias = true;
  options.shape.vocabulary_padded = options.shape.vocabulary;
  options.threads = 1;
  options.device.graph = false;
  options.device.deterministic = true;
  return start;
}

std::vector<LadderRung> MakeLadder(const ModelOptions& model, const LadderMachine& machine) {
  std::vector<LadderRung> ladder;
  if (model.device.on) {
    ladder.push_back(
        Rung("backward by hand, one arena", "engine.kind: eager, attention: math", [](Options) {}));
    AddShapeRungs(ladder, model.shape);
    AddDeviceRungs(ladder, machine);
    return ladder;
  }
  AddReferenceRungs(ladder);
  AddShapeRungs(ladder, model.shape);
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
