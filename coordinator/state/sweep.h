// Sweep: a set of runs, its trials, that differ in the keys that the sweep varies. A user submits a
// sweep as a whole; the scheduler submits its trials, stops losers early and ends the sweep
// (scheduler/sweep_plan.h). What a trial has reached follows from its run
// (scheduler/trial_result.h), so a sweep itself hardly changes. Values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/state/ids.h"
#include "coordinator/state/run.h"
#include "coordinator/state/time.h"

namespace gp::coordinator {

enum class EarlyStopKind {
  kNone = 0,
  // Cancels a trial whose lowest loss is above the median of the other trials' at the same step.
  kMedian = 1,
  // Successive halving without waiting for the last trial of a rung (ASHA, Li et al. 2020): every
  // trial trains up to the first rung, and the best 1 of `eta` of a rung train on up to the next.
  kHalving = 2,
};

struct EarlyStop {
  EarlyStopKind kind = EarlyStopKind::kNone;
  int64_t min_steps = 0;       // no trial is stopped before this step
  int eta = 0;                 // of halving
  std::vector<int64_t> rungs;  // of halving: steps, growing; the last is the whole budget

  bool operator==(const EarlyStop&) const = default;
};

// The run of one trial, ready to be submitted.
struct SweepTrial {
  RunId run;
  std::map<std::string, std::string> keys;  // the varied keys with their values
  // With the budget of the first rung. `source` is empty: all trials have SweepSpec::run_source.
  Submission submission;
  std::vector<int64_t> rung_tokens;  // with halving: target_tokens for the budget of each rung

  bool operator==(const SweepTrial&) const = default;
};

// A sweep as a user submitted it, with all its trials. Never changes.
struct SweepSpec {
  std::string name;
  std::string run_namespace;  // never empty
  std::string source;         // the sweep file
  std::string run_source;     // the run file that the trials vary
  std::string body_digest;    // of the request
  int max_parallel = 1;       // trials that may be unfinished at a time
  EarlyStop early_stop;
  std::vector<SweepTrial> trials;  // trial 1 is the first

  SweepId id() const { return SweepId(run_namespace + "/" + name); }
  bool operator==(const SweepSpec&) const = default;
};

enum class SweepState {
  kRunning = 1,
  kCancelling = 2,
  kSucceeded = 3,  // at least one trial has a validation loss
  kFailed = 4,     // every trial failed or diverged
  kCancelled = 5,
};

constexpr bool HasEnded(SweepState state) { return state >= SweepState::kSucceeded; }

struct Sweep {
  // Without the run files of the trials (resolved, run_source) once the sweep has ended.
  std::shared_ptr<const SweepSpec> spec;
  std::string submitted_by;  // as Run::submitted_by
  std::string request_id;    // of the submit
  uint64_t submitted_sequence = 0;
  Timestamp submitted_at{};
  SweepState state = SweepState::kRunning;
  std::string reason;  // never empty
  std::optional<Timestamp> ended_at;
  uint64_t ended_sequence = 0;  // number of its last event; 0: it has not ended
};

}  // namespace gp::coordinator
