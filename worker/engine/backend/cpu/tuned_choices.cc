#include "worker/engine/backend/cpu/tuned_choices.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "worker/engine/backend/tuning_cache.h"

namespace gp::engine {
namespace {

// The processor's name from the kernel; empty if unknown.
std::string ProcessorName() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line) && !line.starts_with("model name")) line.clear();
  return line.substr(std::min(line.size(), line.find(':') + 1));
}

}  // namespace

std::string TunedChoicesPath(Isa isa, int threads) {
  return TuningCachePath("kernels-" + TuningCacheName(ProcessorName()) + "-" + IsaName(isa) + "-" +
                         std::to_string(threads) + ".txt");
}

KernelChoices ReadTunedChoices(Isa isa, int threads) {
  const std::string path = TunedChoicesPath(isa, threads);
  const auto text = ReadTuningCache(path);
  if (!text) return KernelChoices::Default();
  try {
    return KernelChoices::Parse(*text);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(path + ": " + error.what() +
                                "; remove the file or run `gp-bench tune` again");
  }
}

void WriteTunedChoices(const KernelChoices& choices, Isa isa, int threads) {
  WriteTuningCache(TunedChoicesPath(isa, threads), choices.Encode());
}

}  // namespace gp::engine
