// The settings of a run that need a GPU. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "plan/run_spec.h"

namespace gp::runspec {

struct GpuSetting {
  std::string key;    // "precision"
  std::string value;  // "fp16"
  std::string hint;   // what to write instead for a CPU
};

std::vector<GpuSetting> GpuSettingsOf(const RunSpec& spec);

}  // namespace gp::runspec
