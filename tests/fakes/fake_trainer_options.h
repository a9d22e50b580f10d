// What a fake trainer does, read from the resolved run file: budget.steps and checkpoint.every as
// for the real trainer, and labels that begin with "fake-" for misbehaviour. A value type.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace gp::fakes {

struct FakeTrainerOptions {
  int64_t steps = 100;
  int64_t checkpoint_every = 0;   // 0: only the final one
  int64_t step_ms = 2;            // fake-step-ms
  int64_t fail_at_step = -1;      // fake-fail-at-step; -1: never
  int64_t fail_rank = 0;          // fake-fail-rank
  int64_t fail_epochs = 1 << 20;  // fake-fail-epochs: the last epoch that fails
  int64_t exit_code = 1;          // fake-exit-code, when it fails
  std::string fail_message;       // fake-fail-message: its last message; empty: none
  bool ignore_stop = false;       // fake-ignore-stop: ignores Stop and SIGTERM
  bool silent = false;            // fake-silent: never sends Listening
  bool hang = false;              // fake-hang: takes no step and says that it computes
  std::string hostile;            // fake-hostile: what it sends instead (fakes/hostile_words.h)
};

StatusOr<FakeTrainerOptions> ParseFakeTrainerOptions(const std::string& resolved);

}  // namespace gp::fakes
