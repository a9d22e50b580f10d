// TrainingStart: where a run's counters begin. A run that continues from the position in the data
// of another run's checkpoint begins with that checkpoint's step and tokens; every other run begins
// at 0. A value.
#pragma once

#include <cstdint>

namespace gp::runspec {

struct TrainingStart {
  int64_t step = 0;
  int64_t tokens = 0;  // that the weights were trained on before that step

  bool operator==(const TrainingStart&) const = default;
};

}  // namespace gp::runspec
