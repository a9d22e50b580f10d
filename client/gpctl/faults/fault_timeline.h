// What a run did after a fault, from its points and events. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "gp/v1/run.pb.h"

namespace gp::gpctl {

// A fault that was injected into a run.
struct Fault {
  int64_t at_us = 0;  // wall clock
  // The run's epoch then, if the fault ends the group of ranks: only a step of a later epoch shows
  // that the run goes on. 0: any later step does.
  uint64_t ends_epoch = 0;
};

int64_t Microseconds(const google::protobuf::Timestamp& time);

// Seconds from the fault to the first step that was committed after it; nullopt if there was none.
std::optional<double> SecondsToNextStep(const std::vector<v1::MetricPoint>& points,
                                        const Fault& fault);

struct StepsRedone {
  int64_t steps = 0;        // taken again from a checkpoint, or from the start
  int from_checkpoint = 0;  // starts that read a checkpoint
};

// `events` are all those of the run. Epochs that were not placed go on with the state in memory.
StepsRedone CountStepsRedone(const std::vector<v1::MetricPoint>& points,
                             const std::vector<v1::RunEvent>& events);

// The steps from the first to the last that no point is of.
int64_t CountMissingSteps(const std::vector<v1::MetricPoint>& points);

// The value that a share of the values does not exceed: 0.5 is the median. 0 if there is none.
double Quantile(std::vector<double> values, double share);

}  // namespace gp::gpctl
