#include "runspec/preset.h"

#include <array>

namespace gp::runspec {
namespace {

struct Preset {
  std::string_view name;
  std::string_view summary;
  std::string_view text;
};

// Small steps: on few cores a small model learns more from many small batches than from large ones.
// After one minute on two cores most of a sample is English words.
constexpr std::string_view kTiny = R"(
model: {n_layer: 4, n_head: 4, n_embd: 128, n_ctx: 64, vocab: auto, bias: false, gelu: tanh, dropout: 0}
data: {tokenizer: bytes, val_fraction: 0.1, order: random}
batch: {micro_batch: 8, sequence: 64}
optimizer: {lr: 4e-3, beta1: 0.9, beta2: 0.99, weight_decay: 0.1, grad_clip: 1}
schedule: {kind: cosine, warmup_steps: 100, min_lr_ratio: 0.05}
budget: {steps: 2000}
eval: {every: 250, batches: 10}
sample: {every: 500, prompt: "The ", max_tokens: 120, temperature: 0.6, top_k: 30}
checkpoint: {every: 500, keep_last: 2, keep_best: true, keep_every: 500}
)";

// nanoGPT's train_shakespeare_char with the settings its README gives for a CPU.
constexpr std::string_view kShakespeareChar = R"(
model: {n_layer: 4, n_head: 4, n_embd: 128, n_ctx: 64, vocab: auto, bias: false, gelu: erf, dropout: 0}
data: {tokenizer: chars, val_fraction: 0.1, order: random}
batch: {micro_batch: 12, sequence: 64}
optimizer: {lr: 1e-3, beta1: 0.9, beta2: 0.99, weight_decay: 0.1, grad_clip: 1}
schedule: {kind: cosine, warmup_steps: 100, warmup_form: nanogpt, min_lr_ratio: 0.1}
budget: {steps: 2000}
eval: {every: 250, batches: 20}
sample: {every: 500, max_tokens: 200}
checkpoint: {every: 500, keep_last: 2, keep_best: true, keep_every: 500}
)";

// nanoGPT's config/train_shakespeare_char.py.
constexpr std::string_view kShakespeareCharGpu = R"(
model: {n_layer: 6, n_head: 6, n_embd: 384, n_ctx: 256, vocab: auto, bias: false, gelu: erf, dropout: 0.2}
data: {tokenizer: chars, val_fraction: 0.1, order: random}
batch: {micro_batch: 64, sequence: 256}
optimizer: {lr: 1e-3, beta1: 0.9, beta2: 0.99, weight_decay: 0.1, grad_clip: 1}
schedule: {kind: cosine, warmup_steps: 100, warmup_form: nanogpt, min_lr_ratio: 0.1}
budget: {steps: 5000}
eval: {every: 250, batches: 200}
sample: {every: 500, max_tokens: 500}
checkpoint: {every: 500, keep_last: 2, keep_best: true, keep_every: 1000}
resources: {device: auto}
precision: bf16
)";

// Batch, budget and warm-up of GPT-3 small; learning rates from the table in Brown et al. 2020,
// arXiv:2005.14165.
#define GP_GPT2_PRESET(shape, lr, micro)                                                         \
  "model: {" shape                                                                               \
  ", n_ctx: 1024, vocab: auto, pad_vocab_to: 128, bias: true, gelu: tanh, dropout: 0}\n"         \
  "data: {tokenizer: gpt2, order: sequential}\n"                                                 \
  "batch: {micro_batch: " micro                                                                  \
  ", sequence: 1024, total_tokens: 2^19}\n"                                                      \
  "optimizer: {lr: " lr                                                                          \
  ", beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: 0.1, grad_clip: 1}\n"                     \
  "schedule: {kind: cosine, warmup_steps: 715, warmup_form: build_nanogpt, min_lr_ratio: 0.1}\n" \
  "budget: {tokens: 10B}\n"                                                                      \
  "eval: {every: 250, batches: 20}\n"                                                            \
  "sample: {every: 250, prompt: \"Hello, I'm a language model,\", max_tokens: 32, top_k: 50}\n"  \
  "checkpoint: {every: auto, keep_last: 3, keep_best: true, keep_every: 5000}\n"                 \
  "resources: {device: auto}\n"                                                                  \
  "precision: bf16\n"

constexpr std::array<Preset, 8> kPresets = {{
    {"tiny", "0.8 million parameters on bytes; a minute or two on a laptop", kTiny},
    {"shakespeare-char", "nanoGPT's character model, the recipe for CPUs", kShakespeareChar},
    {"shakespeare-char-gpu", "nanoGPT's character model, the recipe for a GPU",
     kShakespeareCharGpu},
    {"gpt2-124m", "GPT-2 small",
     GP_GPT2_PRESET("n_layer: 12, n_head: 12, n_embd: 768", "6e-4", "16")},
    {"gpt2-350m", "GPT-2 medium",
     GP_GPT2_PRESET("n_layer: 24, n_head: 16, n_embd: 1024", "3e-4", "8")},
    {"gpt2-774m", "GPT-2 large",
     GP_GPT2_PRESET("n_layer: 36, n_head: 20, n_embd: 1280", "2.5e-4", "4")},
    {"gpt2-1558m", "GPT-2 XL",
     GP_GPT2_PRESET("n_layer: 48, n_head: 25, n_embd: 1600", "2e-4", "2")},
    {"build-nanogpt", "GPT-2 small as build-nanogpt trains it",
     GP_GPT2_PRESET("n_layer: 12, n_head: 12, n_embd: 768", "6e-4", "64")},
}};
#undef GP_GPT2_PRESET

const Preset* Find(std::string_view name) {
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> PresetNames() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

std::string_view PresetText(std::string_view name) {
  const Preset* preset = Find(name);
  return preset == nullptr ? std::string_view() : preset->text;
}

std::string_view PresetSummary(std::string_view name) {
  const Preset* preset = Find(name);
  return preset == nullptr ? std::string_view() : preset->summary;
}

}  // namespace gp::runspec
