// What the machine of a bench was measured to reach: what its figures are fractions of. One thread
// calls.
#pragma once

#include <functional>

#include "worker/engine/backend/backend.h"
#include "worker/engine/model/make_language_model.h"

namespace gp::engine {

// Milliseconds of one of `count` calls of `run`, by the backend's own clock; waits for the last.
double MillisecondsOf(Backend& backend, int count, const std::function<void()>& run);

// FLOP/s: of fp32 multiply-adds on options.threads cores, or of a large matrix product on the
// device in the precision of the options.
double MeasureFlops(const ModelOptions& options);

// Bytes a second, read and written: a triad on options.threads cores, or a large copy on the
// device.
double MeasureBandwidth(const ModelOptions& options);

}  // namespace gp::engine
