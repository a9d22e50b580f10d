// WaitCondition: the condition C of `gpctl wait RUN --for C`. A value. Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "gp/v1/run.pb.h"

namespace gp::gpctl {

struct WaitCondition {
  enum class Kind { kFinished, kState, kStep, kLoss, kValidationLoss, kCheckpoint };

  Kind kind = Kind::kFinished;
  v1::RunState state = v1::RUN_STATE_UNSPECIFIED;
  int64_t step = 0;
  double below = 0;

  bool MetBy(const v1::Run& run) const;
};

// "finished", "checkpoint" (any sealed one), "state=running" (or just "running"), "step=1000" (that
// step or a later one), "loss<2.5" (the newest training loss), "val_loss<1.9" (that of the newest
// evaluation). InvalidArgument lists the forms, or says which number is expected.
StatusOr<WaitCondition> ParseWaitCondition(const std::string& text);

}  // namespace gp::gpctl
