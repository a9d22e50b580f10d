// Measures the machine's peak rates, which a bench compares its figures with. One thread calls.
#pragma once

#include <functional>

#include "worker/engine/backend/backend.h"
#include "worker/engine/model/make_language_model.h"

namespace gp::engine {

// The mean time of `count` calls of `run` in milliseconds, by the backend's own clock; waits for
// the last.
double MillisecondsOf(Backend& backend, int count, const std::function<void()>& run);

// Rows and columns of the matrix product that measures a device: 1.1 TFLOP, 400 MB in bf16.
inline constexpr int64_t kPeakSide = 8192;

// FLOP/s: of fp32 multiply-adds on options.threads cores, or of a product of square matrices on the
// device in the precision of the options. In FP8 the time includes rounding both operands.
double MeasureFlops(const ModelOptions& options, int64_t peak_side = kPeakSide);

// FLOP/s of bf16 products by AMX's tile registers on options.threads cores; 0 where this process
// cannot use them.
double MeasureTileFlops(const ModelOptions& options);

// Bytes per second, read and written: a triad on options.threads cores, or a copy of 16 peak_side^2
// bytes on the device.
double MeasureBandwidth(const ModelOptions& options, int64_t peak_side = kPeakSide);
// Bytes per second that options.threads cores read; on a device, the result of MeasureBandwidth.
double MeasureReadBandwidth(const ModelOptions& options, int64_t peak_side = kPeakSide);

}  // namespace gp::engine
