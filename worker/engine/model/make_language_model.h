// Makes a LanguageModel: chooses the engine, and has the two initialisations. Errors are
// exceptions. One thread calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plan/arena_plan.h"
#include "plan/model_part.h"
#include "plan/model_shape.h"
#include "plan/run_spec.h"
#include "worker/engine/backend/cpu/kernel_choices.h"
#include "worker/engine/backend/cpu/kernels/isa.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/device_backend.h"
#include "worker/engine/model/language_model.h"
#include "worker/engine/model/reference_gpt2.h"

namespace gp::engine {

// How the model uses the process' device (backend/device_backend.h). With `on`, it computes on the
// device instead of the CPU, and `isa`, `tiles`, `choices` and `threads` of ModelOptions are
// ignored.
struct DeviceUse {
  bool on = false;
  bool graph = true;
  bool deterministic = true;
  std::string tuning;
};

struct ModelOptions {
  runspec::ModelShape shape;
  runspec::EngineKind kind = runspec::EngineKind::kFused;
  runspec::Precision precision = runspec::Precision::kFp32;
  int64_t micro_batch = 8;  // most sequences of one forward pass
  int64_t sequence = 128;   // longest of them
  int threads = 1;
  Isa isa = Isa::kAuto;
  TileUse tiles = TileUse::kIfUsable;
  KernelChoices choices = {};
  runspec::Attention attention = runspec::Attention::kFlash;
  runspec::Recompute recompute = runspec::Recompute::kNone;
  int64_t chunked_head = 0;       // rows of logits that exist at a time; 0: all
  ReferenceStyle reference = {};  // for the reference engine only
  runspec::ResidualType residual = runspec::ResidualType::kFp32;  // bf16 needs bf16 compute
  DeviceUse device = {};
  runspec::TrainedParts trained = {};
};

// The options for a run file: `threads` threads and the best kernels, or the device when
// resources.device is gpu.
ModelOptions ModelOptionsOf(const runspec::RunSpec& spec, int threads);

// The arena options of a model with `options`.
runspec::ArenaOptions ArenaOptionsOf(const ModelOptions& options);

// kFused and kEager compute with Gpt2 on the CPU backend or the device's (kEager with one pass per
// operation), kReference with LibTorch and autograd in fp32. Parameters are zero. Throws
// std::invalid_argument for inconsistent sizes and for options that the backend does not support.
// `choices`, if present, receives DeviceBackend::choices when a device computes.
std::unique_ptr<LanguageModel> MakeLanguageModel(const ModelOptions& options,
                                                 DeviceChoices* choices = nullptr);

// The backend that MakeLanguageModel uses, and the choices when it is on a device.
DeviceBackend MakeBackend(const ModelOptions& options);

// Options for a backend that runs no training step, only single operations or a decoder. A device
// then plans and checks no attention kernels, and times no matrix products.
ModelOptions WithoutTraining(ModelOptions options);

// Weights normal(0, 0.02), c_proj scaled by 1/sqrt(2L), biases 0, LayerNorm 1: each value a
// function of (seed, tensor, element) alone, whatever number of `threads` of the host draws them.
// Rows of the vocabulary padding are 0.
void InitializeNormal(uint64_t seed, LanguageModel& model, int threads = 1);

// The same distribution, bit-equal to nanoGPT's after torch.manual_seed(seed): LibTorch's CPU
// generator, the draws of module construction included. nanoGPT's vocab_size corresponds to
// vocabulary_padded.
void InitializeTorch(uint64_t seed, LanguageModel& model);

}  // namespace gp::engine
