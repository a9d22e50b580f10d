// LoopState: the state of a training besides weights and moments, for a rank that joins it: the
// record of a checkpoint, and how far the ranks got after their newest step. Its text is JSON;
// numbers come back bit for bit. Values and pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/status.h"
#include "formats/training_record.h"
#include "worker/engine/step/training_step.h"

namespace gp::engine {

// The results of the evaluations after a step.
struct Evaluated {
  std::optional<double> loss;            // nats per token; absent when it was not due
  std::map<std::string, double> scores;  // by the names of contract::TrainingPoint::scores
};

// The newest step that a process committed.
struct CommittedStep {
  StepResult result;
  std::optional<Evaluated> evaluated;  // absent until its evaluation is done, or was not due
  bool reported = false;
  bool concluded = false;  // reported, sampled and saved, as far as that was due
};

struct LoopState {
  int64_t step = 0;  // committed steps
  formats::TrainingRecord record;
  int64_t consecutive_skips = 0;        // as TrainingStep::consecutive_skips
  std::optional<CommittedStep> newest;  // without the times of its phases
  // TrainingLoop has members with these names and meanings.
  bool evaluation_owed = false;
  int64_t observed_step = -1;
  int64_t calibrated_step = -1;
};

std::string FormatLoopState(const LoopState& state);
// DataLoss says what is wrong.
StatusOr<LoopState> ParseLoopState(const std::string& text);

}  // namespace gp::engine
