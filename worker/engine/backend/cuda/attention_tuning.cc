#include "worker/engine/backend/cuda/attention_tuning.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "runspec/gpu_workspace.h"

namespace gp::engine {
namespace {

// What the kernel before cuDNN's may hold of the scratch memory, and the alignment.
constexpr int64_t kPadding = 1024;

// As GemmChoices names a kind: "attention-forward_64x12x1024x64_bf16".
std::string KindOf(const char* pass, const CudnnAttentionOptions& options) {
  const AttentionShape& s = options.shape;
  return std::string("attention-") + pass + "_" + std::to_string(s.sequences) + "x" +
         std::to_string(s.heads) + "x" + std::to_string(s.length) + "x" +
         std::to_string(s.head_size) + (options.type == DataType::kFloat16 ? "_fp16" : "_bf16");
}

// GemmChoices keeps hexadecimal digits.
std::string ToHex(const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte / 16];
    hex += kDigits[byte % 16];
  }
  return hex;
}

std::string FromHex(const std::string& hex) {
  std::string text;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return text;
}

std::string PlanIn(const GemmChoices& choices, const std::string& kind) {
  const std::string* chosen = choices.Find(kind);
  return chosen == nullptr ? "" : FromHex(*chosen);
}

bool IsSwitchedOff() {
  const char* setting = std::getenv("GP_ATTENTION_PLANS");
  return setting != nullptr && std::string_view(setting) == "0";
}

}  // namespace

CudnnAttentionOptions CudnnOptionsOf(const CudaBackendOptions& options) {
  CudnnAttentionOptions made{
      .shape = {.sequences = options.arena.micro_batch,
                .length = options.arena.sequence,
                .heads = options.shape.heads,
                .head_size = options.shape.channels / options.shape.heads},
      .type = ComputeTypeOf(options.arena),
      .deterministic = options.deterministic,
  };
  made.plans = {PlanIn(options.gemms, KindOf("forward", made)),
                PlanIn(options.gemms, KindOf("backward", made))};
  return made;
}

GemmChoices TuneAttention(const CudaBackendOptions& options, const CudaDevice& device,
                          const GemmChoices& known) {
  GemmChoices choices(known.device());
  const CudnnAttentionOptions cudnn = CudnnOptionsOf(options);
  const bool wanted = options.arena.attention != runspec::Attention::kMath && !IsSwitchedOff();
  if (!wanted || !SupportOf(device, "cudnn attention").works || !WhyCudnnRefuses(cudnn).empty()) {
    return choices;
  }
  const std::string forward = KindOf("forward", cudnn);
  const std::string backward = KindOf("backward", cudnn);
  CudnnPlans plans{PlanIn(known, forward), PlanIn(known, backward)};
  if (plans.forward.empty() || plans.backward.empty()) {
    const int64_t scratch =
        runspec::GpuWorkspacePieceOf(options.shape, options.arena, "scratch").size_bytes;
    const AttentionShape& s = cudnn.shape;
    plans = TimeCudnnPlans(cudnn, scratch - s.sequences * s.heads * s.length * 4 - kPadding);
  }
  if (!plans.forward.empty()) choices.Set(forward, ToHex(plans.forward));
  if (!plans.backward.empty()) choices.Set(backward, ToHex(plans.backward));
  return choices;
}

}  // namespace gp::engine
