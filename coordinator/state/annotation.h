// What a RunAnnotated event makes of a run's labels and note. Pure; thread-safe.
#pragma once

#include "coordinator/state/event.h"

namespace gp::coordinator {

// The most labels that Annotate gives a run. A run file may have more.
inline constexpr size_t kRunLabelsMax = 64;

void Annotate(const RunAnnotated& change, Run& run);

// Whether the run has these labels and this note already.
bool IsAnnotated(const RunAnnotated& change, const Run& run);

}  // namespace gp::coordinator
