#include "worker/trainer/engine_choice.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "base/log.h"
#include "formats/recorded_precision.h"
#include "formats/versioned_arithmetic.h"
#include "runspec/gpu_settings.h"
#include "worker/engine/backend/cpu/kernels/amx_support.h"
#include "worker/engine/backend/cpu/tuned_choices.h"
#include "worker/engine/backend/device_backend.h"
#include "worker/engine/step/training_error.h"

namespace gp::engine {
namespace {

using contract::ExitCause;
using runspec::Precision;

constexpr char kIsaMax[] = "GP_ISA_MAX";

// What GP_ISA_MAX allows. Level `amx` must be asked for: `amx` allows the tile registers, and
// `amx_twin` begins runs at that level without them.
struct AllowedLevels {
  Isa highest = Isa::kAvx512Bf16;
  bool begins_with_twin = false;

  TileUse tiles() const { return highest == Isa::kAmx ? TileUse::kIfUsable : TileUse::kNever; }
};

AllowedLevels Allowed() {
  const char* name = std::getenv(kIsaMax);
  if (name == nullptr || *name == '\0') return {};
  if (std::string_view(name) == "amx_twin") return {.begins_with_twin = true};
  try {
    const Isa highest = ParseIsa(name);
    return highest == Isa::kAuto ? AllowedLevels() : AllowedLevels{.highest = highest};
  } catch (const std::invalid_argument& error) {
    throw TrainingError(ExitCause::kConfig, fmt::format("{}: {}, amx_twin", kIsaMax, error.what()));
  }
}

// Whether new runs begin with level `amx`. Logs once why not if it was asked for in vain.
bool BeginsWithAmx(const AllowedLevels& allowed) {
  if (allowed.begins_with_twin) return IsaSupported(Isa::kAmx);
  if (allowed.highest != Isa::kAmx) return false;
  static const bool usable = [] {
    if (!Amx().usable) {
      LogWarning("level amx is not used",
                 {{"reason", Amx().why_not}, {"instead", IsaName(BestIsa())}});
    }
    return Amx().usable;
  }();
  return usable;
}

[[noreturn]] void Refuse(const std::string& what) {
  throw TrainingError(ExitCause::kUnfit, what +
                                             "; train where they exist, or submit the run with "
                                             "one worker and deterministic: false");
}

void RefuseNewerNumerics(const EngineRecord& record) {
  const int64_t version = formats::ParseVersionedArithmetic(record.isa).version;
  if (version <= kNumericsVersion) return;
  throw TrainingError(
      ExitCause::kUnfit,
      fmt::format("the run computes with version {} of the arithmetic ({}), but this gp-trainer "
                  "knows versions up to {}; install a newer gp on this node",
                  version, record.isa, kNumericsVersion));
}

KernelChoices ParseKernels(const EngineRecord& record, bool exactly) {
  const auto found = record.kernels.find(record.isa);
  if (found == record.kernels.end()) return KernelChoices::Default();
  try {
    return KernelChoices::Parse(found->second);
  } catch (const std::invalid_argument& error) {
    if (exactly) Refuse(fmt::format("the run's kernel choices: {}", error.what()));
    LogWarning("kernel choices ignored", {{"reason", error.what()}});
    return KernelChoices::Default();
  }
}

bool Lacks(const DeviceInfo& device, const std::string& what) {
  return std::any_of(device.lacks.begin(), device.lacks.end(),
                     [&](const DeviceLack& lack) { return lack.what == what; });
}

// The value for `precision: auto`: the best that the device supports; fp32 without a device.
Precision BestPrecision(const DeviceInfo& device) {
  if (!device.exists()) return Precision::kFp32;
  if (!Lacks(device, formats::PrecisionText(Precision::kBf16))) return Precision::kBf16;
  return Lacks(device, formats::PrecisionText(Precision::kFp16)) ? Precision::kFp32
                                                                 : Precision::kFp16;
}

void RefuseWhatIsLacking(const runspec::RunSpec& spec, const DeviceInfo& device) {
  const auto refuse = [&](const char* key, const std::string& wanted, const std::string& instead) {
    for (const DeviceLack& lack : device.lacks) {
      if (lack.what != wanted) continue;
      throw TrainingError(ExitCause::kConfig,
                          fmt::format("{}: {} is not possible on {}: it {}; use {}: {}", key,
                                      wanted, device.name, lack.why, key, instead));
    }
  };
  refuse("precision", formats::PrecisionText(spec.precision),
         formats::PrecisionText(BestPrecision(device)));
  if (spec.engine.attention == runspec::Attention::kCudnn) {
    refuse("engine.attention", "cudnn", "flash");
  }
}

// Choices made by timing are valid only for one GPU model, driver and library version. Other
// choices change only the rounding: the ranks' copies of the weights stay equal, because all ranks
// use the same gradient sum. So only `deterministic` requires the recorded choices.
void ReproduceTuning(const std::string& tuning, const DeviceInfo& device, bool deterministic,
                     EngineChoice& choice) {
  if (tuning.starts_with(device.tuning_prefix)) {
    choice.device_tuning = tuning;
    return;
  }
  const std::string before = tuning.substr(0, tuning.find('|'));
  if (deterministic) {
    Refuse(fmt::format("the run's matrix products were chosen for {}, but this is {}", before,
                       device.tuning_prefix.substr(0, device.tuning_prefix.find('|'))));
  }
  LogWarning("matrix products are chosen again", {{"before", before}, {"now", device.name}});
}

EngineChoice ReproduceOnDevice(const EngineRecord& record, bool deterministic, int ranks) {
  const bool exactly = deterministic || ranks > 1;
  const DeviceInfo device = FindDevice();
  EngineChoice choice{.device_kernels = device.kernels};
  if (record.isa == device.kernels) {
    const auto tuning = record.kernels.find(record.isa);
    if (tuning != record.kernels.end()) {
      ReproduceTuning(tuning->second, device, deterministic, choice);
    }
    return choice;
  }
  if (exactly) {
    Refuse(fmt::format("the run computes with {} kernels, but the {} here has {}", record.isa,
                       device.name, device.kernels));
  }
  LogWarning("different kernels than before", {{"before", record.isa}, {"now", device.kernels}});
  return choice;
}

}  // namespace

EngineRecord EngineOf(const formats::TrainingRecord& record) {
  EngineRecord engine;
  if (!record.isa) return engine;
  engine.isa = *record.isa;
  if (record.kernels) engine.kernels[engine.isa] = *record.kernels;
  return engine;
}

void AddTo(formats::TrainingRecord& record, const EngineRecord& engine) {
  record.isa = engine.isa;
  const auto kernels = engine.kernels.find(engine.isa);
  if (kernels != engine.kernels.end()) record.kernels = kernels->second;
}

void ResolveDevice(runspec::RunSpec& spec) {
  std::string& wanted = spec.resources.device;
  if (wanted == "auto" && spec.engine.kind == runspec::EngineKind::kReference) wanted = "cpu";
  const DeviceInfo device = wanted == "cpu" ? DeviceInfo{} : FindDevice();
  if (wanted == "gpu" && !device.exists()) {
    throw TrainingError(ExitCause::kUnfit, "resources.device: gpu: " + device.why_none);
  }
  const auto gpu_settings = runspec::GpuSettingsOf(spec);
  if (!device.exists() && !gpu_settings.empty()) {
    throw TrainingError(ExitCause::kUnfit,
                        fmt::format("{}: {} needs a GPU: {}; {}", gpu_settings[0].key,
                                    gpu_settings[0].value, device.why_none, gpu_settings[0].hint));
  }
  wanted = device.exists() ? "gpu" : "cpu";
  if (spec.precision == Precision::kAuto) spec.precision = BestPrecision(device);
  spec.deterministic = spec.IsDeterministic();
  if (device.exists()) RefuseWhatIsLacking(spec, device);
}

std::vector<std::string> OfferedLevels(bool on_device) {
  if (on_device) return {FindDevice().kernels};
  const AllowedLevels allowed = Allowed();
  std::vector<std::string> levels;
  const auto offer = [&](Isa level) {
    const bool known = std::find(levels.begin(), levels.end(), IsaName(level)) != levels.end();
    if (IsaSupported(level) && !known) levels.push_back(IsaName(level));
  };
  if (BeginsWithAmx(allowed)) offer(Isa::kAmx);
  for (const Isa level : {BestIsa(), Isa::kAvx512Bf16, Isa::kAvx512, Isa::kAvx2, Isa::kGeneric}) {
    if (level <= allowed.highest) offer(level);
  }
  if (allowed.highest >= Isa::kAvx512) offer(Isa::kAmx);
  return levels;
}

std::map<std::string, std::string> TunedKernels(int threads, bool on_device) {
  std::map<std::string, std::string> kernels;
  if (on_device) {
    const DeviceInfo device = FindDevice();
    if (!device.tuning.empty()) kernels[device.kernels] = device.tuning;
    return kernels;
  }
  for (const std::string& level : OfferedLevels()) {
    try {
      const KernelChoices tuned = ReadTunedChoices(ParseIsa(level), threads);
      if (!tuned.empty()) kernels[level] = tuned.Encode();
    } catch (const std::invalid_argument& error) {
      LogWarning("tuning cache ignored", {{"reason", error.what()}});
    }
  }
  return kernels;
}

EngineChoice Reproduce(const EngineRecord& record, bool deterministic, int ranks, bool on_device) {
  RefuseNewerNumerics(record);
  if (on_device) return ReproduceOnDevice(record, deterministic, ranks);
  const bool exactly = deterministic || ranks > 1;
  const std::vector<std::string> levels = OfferedLevels();
  if (std::find(levels.begin(), levels.end(), record.isa) != levels.end()) {
    return {.isa = ParseIsa(record.isa),
            .tiles = Allowed().tiles(),
            .kernels = ParseKernels(record, exactly)};
  }
  if (exactly) {
    Refuse(fmt::format("the run computes with {} kernels, but this machine has at most {}",
                       record.isa, levels.front()));
  }
  LogWarning("different kernels than before", {{"before", record.isa}, {"now", levels.front()}});
  return {.isa = ParseIsa(levels.front()), .tiles = Allowed().tiles()};
}

std::string WhyWithoutTiles(const EngineChoice& engine) {
  if (engine.on_device() || engine.isa != Isa::kAmx) return "";
  if (engine.tiles == TileUse::kNever) {
    return fmt::format("{} does not allow tile registers", kIsaMax);
  }
  return Amx().why_not;
}

EngineRecord RecordOf(const EngineChoice& engine) {
  if (engine.on_device()) {
    EngineRecord record{.isa = engine.device_kernels};
    if (!engine.device_tuning.empty()) record.kernels[record.isa] = engine.device_tuning;
    return record;
  }
  EngineRecord record{.isa = IsaName(engine.isa)};
  if (!engine.kernels.empty()) record.kernels[record.isa] = engine.kernels.Encode();
  return record;
}

EngineRecord OwnEngine(int threads, bool on_device) {
  return {.isa = OfferedLevels(on_device).front(), .kernels = TunedKernels(threads, on_device)};
}

}  // namespace gp::engine
