// EngineChoice: the kernels that a run computes with. They are decided once per run and stored in
// its record, because another instruction-set level rounds differently. The coordinator decides
// from the ranks' offers; a trainer without a coordinator decides itself. On CPUs nothing is timed
// at the start of a run: it uses the results of `gp-bench tune` on this machine, or the default. On
// a GPU, matrix products that have no recorded choice are timed at the first start, unless the run
// is deterministic (cuda/gemm_tuning.h). A run on a GPU has one "level", named after the device's
// kernels ("cuda sm_90"), and the choices of its backend. Functions may be called from any thread;
// errors are TrainingErrors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "formats/training_record.h"
#include "plan/run_spec.h"
#include "worker/engine/backend/cpu/kernel_choices.h"
#include "worker/engine/backend/cpu/kernels/isa.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"

namespace gp::engine {

struct EngineChoice {
  Isa isa = Isa::kGeneric;
  TileUse tiles = TileUse::kNever;  // for level `amx`; does not change results
  KernelChoices kernels = {};
  // For a run on a device: its kernels and DeviceBackendOptions::tuning.
  std::string device_kernels = {};
  std::string device_tuning = {};

  bool on_device() const { return !device_kernels.empty(); }
};

// The version of the arithmetic of this program. It grows when the same level gives other bits.
// Versions from 2 on are recorded after the level, as in "avx512@2", so that a program that does
// not know them refuses the run, like one that does not know a level.
inline constexpr int64_t kNumericsVersion = 1;

// An EngineChoice as checkpoints and messages carry it; `isa` is empty until it is decided.
struct EngineRecord {
  std::string isa;
  std::map<std::string, std::string> kernels;  // KernelChoices::Encode, by level
};

// Converts from and to a checkpoint's record: `isa` and, if kernels were tuned, `kernels`.
EngineRecord EngineOf(const formats::TrainingRecord& record);
void AddTo(formats::TrainingRecord& record, const EngineRecord& engine);

// Replaces `auto` in resources.device by gpu or cpu, and in precision and deterministic by the best
// for this device. TrainingError: kUnfit when resources.device or another setting needs a GPU and
// there is none; kConfig when the device does not support a setting.
void ResolveDevice(runspec::RunSpec& spec);

// The levels of this processor up to the one in the environment variable GP_ISA_MAX (without it
// avx512_bf16): BestIsa first, then the others from the highest down. `amx` is first if GP_ISA_MAX
// is amx and this process may use the tile registers, or if it is amx_twin. Otherwise `amx` is last
// where AVX-512 can compute it: runs that began with it can go on here, but none begins with it.
// For a run on a device, the name of its kernels.
std::vector<std::string> OfferedLevels(bool on_device = false);

// The kernel choices tuned on this machine for the offered levels. Skips a damaged file.
std::map<std::string, std::string> TunedKernels(int threads, bool on_device = false);

// The choice in `record`. TrainingError(kUnfit) when this machine cannot compute with it, and
// always when this program does not know the record's version of the arithmetic. A run of one rank
// without `deterministic` warns instead: it takes the first of OfferedLevels with default kernels,
// or the default kernels of the recorded level if only its choices are unusable. With several ranks
// this is an error, because their copies of the weights would differ. Without `deterministic`,
// tuning for another device is ignored, with any number of ranks.
EngineChoice Reproduce(const EngineRecord& record, bool deterministic, int ranks,
                       bool on_device = false);

// Why `engine` computes level `amx` without tile registers, which takes longer; empty if it does
// not.
std::string WhyWithoutTiles(const EngineChoice& engine);

// The record from which Reproduce makes `engine`; leaves out default kernels.
EngineRecord RecordOf(const EngineChoice& engine);

// The first of OfferedLevels, and the tuned choices of all offered levels.
EngineRecord OwnEngine(int threads, bool on_device = false);

}  // namespace gp::engine
