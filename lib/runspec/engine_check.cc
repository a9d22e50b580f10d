#include "runspec/engine_check.h"

#include <fmt/format.h>

#include "base/text/thousands.h"
#include "runspec/gpu_settings.h"

namespace gp::runspec {
namespace {

using Problems = std::vector<CrossProblem>;

// Settings that the reference engine does not have; only the engines with our own kernels do.
void CheckReferenceEngine(const RunSpec& spec, Problems& problems) {
  if (spec.engine.kind != EngineKind::kReference) return;
  const EngineSpec& engine = spec.engine;
  const auto refuse = [&](bool wanted, const char* key, const char* value) {
    if (!wanted) return;
    problems.push_back(
        {{key, "engine.kind"},
         fmt::format("{}: {} is not possible with engine.kind: reference", key, value),
         "use engine.kind: fused",
         "engine.kind"});
  };
  refuse(spec.precision == Precision::kBf16, "precision", "bf16");
  refuse(spec.resources.device == "gpu", "resources.device", "gpu");
  refuse(engine.recompute != Recompute::kNone, "engine.recompute",
         engine.recompute == Recompute::kGelu ? "gelu" : "block");
  refuse(engine.chunked_head > 0, "engine.chunked_head",
         WithThousands(engine.chunked_head).c_str());
  refuse(engine.residual == ResidualType::kBf16, "engine.residual", "bf16");
  refuse(engine.stochastic_rounding, "engine.stochastic_rounding", "true");
}

// Checks only `device: cpu`, because `device: auto` may still find a GPU.
void CheckGpuSettings(const RunSpec& spec, Problems& problems) {
  if (spec.resources.device != "cpu") return;
  for (const GpuSetting& setting : GpuSettingsOf(spec)) {
    problems.push_back({{setting.key, "resources.device"},
                        fmt::format("{}: {} is not possible with resources.device: cpu",
                                    setting.key, setting.value),
                        setting.hint + ", or resources.device: gpu",
                        "resources.device"});
  }
}

// With zero1 each rank updates a slice of the elements, but Muon's update needs whole matrices.
void CheckZero1(const RunSpec& spec, Problems& problems) {
  if (!spec.engine.zero1 || spec.optimizer.kind != OptimizerKind::kMuon) return;
  problems.push_back({{"engine.zero1", "optimizer.kind"},
                      "engine.zero1: true is not possible with optimizer.kind: muon: its update "
                      "needs whole matrices",
                      "use optimizer.kind: adamw, or leave engine.zero1 out",
                      "optimizer.kind"});
}

// Options of Muon, which CPUs compute.
void CheckMuonOptions(const RunSpec& spec, Problems& problems) {
  const auto refuse = [&](bool wanted, const char* key) {
    if (!wanted) return;
    if (spec.optimizer.kind != OptimizerKind::kMuon) {
      problems.push_back({{key, "optimizer.kind"},
                          fmt::format("{}: true needs optimizer.kind: muon", key),
                          "set optimizer.kind: muon, or leave the key out",
                          "optimizer.kind"});
    } else if (spec.resources.device != "cpu") {
      problems.push_back({{key, "resources.device"},
                          fmt::format("{}: true needs resources.device: cpu", key),
                          "set resources.device: cpu, or leave the key out",
                          "resources.device"});
    }
  };
  refuse(spec.optimizer.muon_row_scaling, "optimizer.muon_row_scaling");
  refuse(spec.optimizer.muon_cautious_decay, "optimizer.muon_cautious_decay");
}

// Settings that only bf16 uses.
void CheckBf16Switches(const RunSpec& spec, Problems& problems) {
  if (spec.precision == Precision::kBf16 || spec.precision == Precision::kFp8) return;
  const auto refuse = [&](bool wanted, const char* key, const char* value, const char* why) {
    if (!wanted) return;
    problems.push_back({{key, "precision"},
                        fmt::format("{}: {} needs precision: bf16{}", key, value, why),
                        "set precision: bf16, or leave the key out",
                        "precision"});
  };
  refuse(spec.engine.residual == ResidualType::kBf16, "engine.residual", "bf16", "");
  refuse(spec.engine.stochastic_rounding, "engine.stochastic_rounding", "true",
         ": only then is there a rounded copy of the weights");
}

}  // namespace

void CheckEngine(const RunSpec& spec, Problems& problems) {
  CheckReferenceEngine(spec, problems);
  CheckGpuSettings(spec, problems);
  CheckZero1(spec, problems);
  CheckMuonOptions(spec, problems);
  CheckBf16Switches(spec, problems);
}

}  // namespace gp::runspec
