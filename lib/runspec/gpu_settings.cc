#include "runspec/gpu_settings.h"

namespace gp::runspec {

std::vector<GpuSetting> GpuSettingsOf(const RunSpec& spec) {
  std::vector<GpuSetting> settings;
  const auto add = [&](bool wanted, const char* key, const char* value, const char* hint) {
    if (wanted) settings.push_back({key, value, hint});
  };
  const char* precision_hint = "use precision: fp32 or bf16";
  add(spec.precision == Precision::kTf32, "precision", "tf32", precision_hint);
  add(spec.precision == Precision::kFp16, "precision", "fp16", precision_hint);
  add(spec.precision == Precision::kFp8, "precision", "fp8", precision_hint);
  add(spec.engine.attention == Attention::kCudnn, "engine.attention", "cudnn",
      "use engine.attention: flash");
  add(spec.engine.zero1, "engine.zero1", "true", "leave the key out");
  return settings;
}

}  // namespace gp::runspec
