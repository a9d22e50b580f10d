// EngineChoice: with which kernels a run computes. Decided once per run and part of its record,
// because another instruction-set level rounds differently: by the coordinator out of what the
// ranks offer, or by a trainer without one. Never by timing: what `gp-bench tune` left on this
// machine is taken, or the default. A run on a GPU computes with one "level", named after the
// device's kernels ("cuda sm_90"), and what its backend chose. Functions may be called from any
// thread; errors are TrainingErrors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runspec/run_spec.h"
#include "worker/engine/backend/cpu/isa.h"
#include "worker/engine/backend/cpu/kernel_choices.h"

namespace gp::engine {

struct EngineChoice {
  Isa isa = Isa::kGeneric;
  KernelChoices kernels;
  // On a device instead: its kernels and DeviceBackendOptions::tuning.
  std::string device_kernels;
  std::string device_tuning;

  bool on_device() const { return !device_kernels.empty(); }
};

// The same as records and messages carry it; `isa` is empty while nothing is decided.
struct EngineRecord {
  std::string isa;
  std::map<std::string, std::string> kernels;  // KernelChoices::Encode, by level
};

// From and to a checkpoint's record: the keys `isa` and, when something was tuned, `kernels`.
EngineRecord EngineOf(const std::map<std::string, std::string>& record);
void AddTo(std::map<std::string, std::string>& record, const EngineRecord& engine);

// What the run will compute on, of what this process has: resources.device: auto becomes gpu or
// cpu, precision: auto and deterministic: auto what that is good at. TrainingError(kUnfit) without
// the device that is asked for, kConfig for what the device lacks.
void SettleDevice(runspec::RunSpec& spec);

// The levels of this processor up to the one that the environment variable GP_ISA_MAX names, the
// fastest first; of a run on a device, its kernels.
std::vector<std::string> OfferedLevels(bool on_device = false);

// What was tuned on this machine for the offered levels. A damaged file is passed over.
std::map<std::string, std::string> TunedKernels(int threads, bool on_device = false);

// What `record` says. TrainingError(kUnfit) when this machine cannot; a rank without peers and
// without `deterministic` takes what comes nearest and warns. One of several must not: their copies
// of the weights would drift apart. What was tuned for another device than this one is passed over
// without `deterministic`, whatever the number of ranks.
EngineChoice Reproduce(const EngineRecord& record, bool deterministic, int ranks,
                       bool on_device = false);

// The record that Reproduce turns into `engine`: without kernels where they are the default ones.
EngineRecord RecordOf(const EngineChoice& engine);

// The fastest level and what was tuned for it.
EngineRecord OwnEngine(int threads, bool on_device = false);

}  // namespace gp::engine
