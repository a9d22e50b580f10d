#include "worker/engine/trainer/engine_choice.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "base/log.h"
#include "worker/engine/backend/cpu/tuned_choices.h"
#include "worker/engine/trainer/training_error.h"

namespace gp::engine {
namespace {

using link::ExitCause;

constexpr char kIsaMax[] = "GP_ISA_MAX";
constexpr char kIsaKey[] = "isa";
constexpr char kKernelsKey[] = "kernels";

Isa HighestAllowed() {
  const char* name = std::getenv(kIsaMax);
  if (name == nullptr || *name == '\0') return Isa::kAvx512Bf16;
  try {
    return ParseIsa(name);
  } catch (const std::invalid_argument& error) {
    throw TrainingError(ExitCause::kConfig, fmt::format("{}: {}", kIsaMax, error.what()));
  }
}

[[noreturn]] void Refuse(const std::string& what) {
  throw TrainingError(ExitCause::kUnfit, what +
                                             "; train where they exist, or submit the run with "
                                             "one worker and deterministic: false");
}

KernelChoices ParseKernels(const EngineRecord& record, bool exactly) {
  const auto found = record.kernels.find(record.isa);
  if (found == record.kernels.end()) return KernelChoices::Default();
  try {
    return KernelChoices::Parse(found->second);
  } catch (const std::invalid_argument& error) {
    if (exactly) Refuse(fmt::format("the run's kernel choices: {}", error.what()));
    LogWarning("kernel choices passed over", {{"reason", error.what()}});
    return KernelChoices::Default();
  }
}

}  // namespace

EngineRecord EngineOf(const std::map<std::string, std::string>& record) {
  EngineRecord engine;
  const auto isa = record.find(kIsaKey);
  if (isa == record.end()) return engine;
  engine.isa = isa->second;
  const auto kernels = record.find(kKernelsKey);
  if (kernels != record.end()) engine.kernels[engine.isa] = kernels->second;
  return engine;
}

void AddTo(std::map<std::string, std::string>& record, const EngineRecord& engine) {
  record[kIsaKey] = engine.isa;
  const auto kernels = engine.kernels.find(engine.isa);
  if (kernels != engine.kernels.end()) record[kKernelsKey] = kernels->second;
}

std::vector<std::string> OfferedLevels() {
  const Isa highest = HighestAllowed();
  std::vector<std::string> levels;
  const auto offer = [&](Isa level) {
    const bool known = std::find(levels.begin(), levels.end(), IsaName(level)) != levels.end();
    if (level <= highest && IsaSupported(level) && !known) levels.push_back(IsaName(level));
  };
  offer(BestIsa());
  for (const Isa level : {Isa::kAvx512Bf16, Isa::kAvx512, Isa::kAvx2, Isa::kGeneric}) offer(level);
  return levels;
}

std::map<std::string, std::string> TunedKernels(int threads) {
  std::map<std::string, std::string> kernels;
  for (const std::string& level : OfferedLevels()) {
    try {
      const KernelChoices tuned = ReadTunedChoices(ParseIsa(level), threads);
      if (!tuned.empty()) kernels[level] = tuned.Encode();
    } catch (const std::invalid_argument& error) {
      LogWarning("tuning cache passed over", {{"reason", error.what()}});
    }
  }
  return kernels;
}

EngineChoice Reproduce(const EngineRecord& record, bool deterministic, int ranks) {
  const bool exactly = deterministic || ranks > 1;
  const std::vector<std::string> levels = OfferedLevels();
  if (std::find(levels.begin(), levels.end(), record.isa) != levels.end()) {
    return {ParseIsa(record.isa), ParseKernels(record, exactly)};
  }
  if (exactly) {
    Refuse(fmt::format("the run computes with {} kernels, here are {} at most", record.isa,
                       levels.front()));
  }
  LogWarning("other kernels than before", {{"before", record.isa}, {"now", levels.front()}});
  return {ParseIsa(levels.front()), KernelChoices::Default()};
}

EngineRecord RecordOf(const EngineChoice& engine) {
  EngineRecord record{.isa = IsaName(engine.isa)};
  if (!engine.kernels.empty()) record.kernels[record.isa] = engine.kernels.Encode();
  return record;
}

EngineRecord OwnEngine(int threads) {
  return {.isa = OfferedLevels().front(), .kernels = TunedKernels(threads)};
}

}  // namespace gp::engine
