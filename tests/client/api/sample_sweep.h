// A sweep of three learning rates with two seeds, for tests of clients.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gp/v1/sweep_service.pb.h"

namespace gp::client {

// The losses of the trials: two seeds of each of the rates 1e-3, 3e-3, 1e-1.
inline v1::Sweep SampleSweep(const std::vector<std::optional<double>>& losses) {
  v1::Sweep sweep;
  sweep.set_name("rates");
  sweep.set_namespace_("default");
  sweep.set_state(v1::SWEEP_STATE_SUCCEEDED);
  sweep.set_reason("6 of 6 trials have a validation loss");
  sweep.set_early_stop("none");
  sweep.set_max_parallel(2);
  sweep.set_trial_count(6);
  sweep.set_ended_trials(6);
  const char* const rates[] = {"1e-3", "3e-3", "1e-1"};
  for (int index = 0; index < 6; ++index) {
    v1::SweepTrial& trial = *sweep.add_trials();
    trial.set_number(index + 1);
    (*trial.mutable_keys())["optimizer.lr"] = rates[index / 2];
    (*trial.mutable_keys())["seed"] = std::to_string(index % 2 + 1);
    trial.set_state(v1::TRIAL_STATE_DONE);
    trial.set_run_id("run" + std::to_string(index + 1));
    trial.set_run_name("rates-" + std::to_string(index + 1));
    trial.set_reason("trained to step 100");
    trial.set_step(100);
    trial.set_target_steps(100);
    trial.set_full_steps(100);
    const auto& loss = losses[static_cast<size_t>(index)];
    if (!loss) continue;
    trial.set_validation_loss(*loss);
    trial.set_validation_step(100);
  }
  return sweep;
}

}  // namespace gp::client
