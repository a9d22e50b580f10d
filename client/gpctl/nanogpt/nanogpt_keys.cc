#include "client/gpctl/nanogpt/nanogpt_keys.h"

#include <string>
#include <vector>

namespace gp::gpctl {
namespace {

PythonValue Whole(int64_t value) { return value; }
PythonValue Text(const char* value) { return std::string(value); }

constexpr char kSampling[] = "gpctl sample RUN has it as a flag: gpctl help sample";
constexpr char kBenching[] = "gpctl bench step measures the engine";

std::vector<NanogptKey> MakeKeys() {
  return {
      {"out_dir", Text("out"),
       "a run has a directory of its own below the service's storage; gpctl export copies a model "
       "out of it"},
      {"eval_interval", Whole(2000)},
      {"log_interval", Whole(1), "every step is recorded: gpctl metrics RUN"},
      {"eval_iters", Whole(200)},
      {"eval_only", false, "a run always trains; to measure a model: gpctl eval REF --task val"},
      {"always_save_checkpoint", true},
      {"init_from", Text("scratch")},
      {"wandb_log", false,
       "curves are kept by gp itself: gpctl watch RUN, and TensorBoard's files"},
      {"wandb_project", Text("owt")},
      {"wandb_run_name", Text("gpt2"), "the run is named after the file; gpctl submit --name"},
      {"dataset", Text("openwebtext")},
      {"gradient_accumulation_steps", Whole(40)},
      {"batch_size", Whole(12)},
      {"block_size", Whole(1024)},
      {"n_layer", Whole(12)},
      {"n_head", Whole(12)},
      {"n_embd", Whole(768)},
      {"dropout", 0.0},
      {"bias", false},
      {"learning_rate", 6e-4},
      {"max_iters", Whole(600000)},
      {"weight_decay", 1e-1},
      {"beta1", 0.9},
      {"beta2", 0.95},
      {"grad_clip", 1.0},
      {"decay_lr", true},
      {"warmup_iters", Whole(2000)},
      {"lr_decay_iters", Whole(600000)},
      {"min_lr", 6e-5},
      {"backend", Text("nccl"), "ranks on GPUs use NCCL, others TCP or shared memory"},
      {"device", Text("cuda")},
      {"dtype", Text("bfloat16")},
      {"compile", true, "the kernels are compiled already; engine.kind chooses them"},
      {"seed", PythonValue()},
      {"real_data", PythonValue(), kBenching},
      {"profile", PythonValue(), kBenching},
      {"start", PythonValue(), kSampling},
      {"num_samples", PythonValue(), kSampling},
      {"max_new_tokens", PythonValue(), kSampling},
      {"temperature", PythonValue(), kSampling},
      {"top_k", PythonValue(), kSampling},
  };
}

const std::vector<NanogptKey>& Keys() {
  static const std::vector<NanogptKey> keys = MakeKeys();
  return keys;
}

}  // namespace

std::span<const NanogptKey> NanogptKeys() { return Keys(); }

const NanogptKey* FindNanogptKey(std::string_view name) {
  for (const NanogptKey& key : Keys()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

PythonNames NanogptDefaults() {
  PythonNames names;
  for (const NanogptKey& key : Keys()) {
    if (!std::holds_alternative<std::monostate>(key.value)) names[key.name] = key.value;
  }
  return names;
}

}  // namespace gp::gpctl
