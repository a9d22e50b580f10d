#include "runspec/engine_check.h"

#include <fmt/format.h>

#include "runspec/count.h"

namespace gp::runspec {
namespace {

using Problems = std::vector<CrossProblem>;

// What only the engines of our own kernels can do.
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
  refuse(engine.recompute != Recompute::kNone, "engine.recompute",
         engine.recompute == Recompute::kGelu ? "gelu" : "block");
  refuse(engine.chunked_head > 0, "engine.chunked_head", FormatCount(engine.chunked_head).c_str());
  refuse(engine.residual == ResidualType::kBf16, "engine.residual", "bf16");
  refuse(engine.stochastic_rounding, "engine.stochastic_rounding", "true");
}

// What means something to bf16 only.
void CheckBf16Switches(const RunSpec& spec, Problems& problems) {
  if (spec.precision == Precision::kBf16) return;
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
  CheckBf16Switches(spec, problems);
}

}  // namespace gp::runspec
