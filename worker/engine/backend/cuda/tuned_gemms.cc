// Reads and writes the file of choices that gemm_tuning.h describes.
#include <stdexcept>

#include "worker/engine/backend/cuda/gemm_tuning.h"
#include "worker/engine/backend/tuning_cache.h"

namespace gp::engine {

std::string TunedGemmsPath(const std::string& tuning_device) {
  return TuningCachePath(std::string(kTunedGemmsFolder) + "/" + TuningCacheName(tuning_device) +
                         ".txt");
}

GemmChoices ReadTunedGemms(const std::string& tuning_device) {
  const GemmChoices nothing(tuning_device);
  const auto text = ReadTuningCache(TunedGemmsPath(tuning_device));
  if (!text) return nothing;
  try {
    GemmChoices choices = GemmChoices::Parse(*text);
    return choices.device() == tuning_device ? choices : nothing;
  } catch (const std::invalid_argument&) {
    return nothing;  // the file is damaged: tuning will replace it
  }
}

void WriteTunedGemms(const GemmChoices& choices) {
  WriteTuningCache(TunedGemmsPath(choices.device()), choices.Encode());
}

}  // namespace gp::engine
