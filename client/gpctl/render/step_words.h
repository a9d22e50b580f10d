// Texts about the parts of a step's time, and its speed as a fraction of the peak. Pure functions;
// thread-safe.
#pragma once

#include <string>

#include "gp/v1/run.pb.h"

namespace gp::gpctl {

// "500/2,000"; "500" for a run that is bounded by time.
std::string StepOfTarget(const v1::Progress& progress);

// "forward 30% backward 60% all-reduce 5% optim 2% data 1% other 2%"; empty without a step. Other
// and optim are left out when the text is wider than `width`; 0 means no limit.
std::string PhaseText(const v1::PhaseSeconds& phases, double step_seconds, int width);

// "its threads waited 12.5% of the time for a processor core"; empty below 1% and when it is
// unknown.
std::string ProcessorWaitText(const v1::Progress& progress);

// "MFU 31.4% of 461 GFLOP/s (measured)"; empty when the MFU is unknown (0).
std::string MfuText(double mfu, double peak_flops, const std::string& peak_source);

}  // namespace gp::gpctl
