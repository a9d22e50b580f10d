// Ranks the trials of a sweep: trials that differ only in the seed are one candidate, ranked by the
// mean of their validation losses. Pure; thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gp/v1/sweep_service.pb.h"

namespace gp::client {

// The steps after which the trial's loss counts: its budget, or those that it trained so far.
int64_t StepsOf(const v1::SweepTrial& trial);

// Trials with the same values of all keys except the seed.
struct Candidate {
  std::map<std::string, std::string> keys;  // without the seed
  std::vector<const v1::SweepTrial*> trials;
  // The trials that count: those with a loss that trained the furthest. A loss after more steps is
  // lower, so others are not comparable.
  std::vector<const v1::SweepTrial*> ranked;
  int64_t steps = 0;                // StepsOf each of `ranked`
  double share = 0;                 // of its whole budget that each of `ranked` has trained
  double mean = 0;                  // of the lowest losses of `ranked`
  std::optional<double> deviation;  // their standard deviation; absent for fewer than 2

  bool has_loss() const { return !ranked.empty(); }
};

// The candidates: first those that trained the largest share of their budget, of equals those with
// the lowest mean; those without a loss last. The sweep must outlive the result.
std::vector<Candidate> RankCandidates(const v1::Sweep& sweep);

// How two means differ.
struct MeanDifference {
  double difference = 0;  // second - first
  // Absent when one of the candidates has fewer than 2 losses.
  std::optional<double> standard_error;
  double margin = 0;  // half of the 95 % interval (Welch)

  bool is_clear() const { return standard_error && (difference > margin || difference < -margin); }
};

// REQUIRES: both have a loss.
MeanDifference Compare(const Candidate& first, const Candidate& second);

// The trial of the first candidate with the lowest loss; null if no trial has a loss.
const v1::SweepTrial* BestTrial(const std::vector<Candidate>& candidates);

// Steps that trials have trained, and what they would have without early stopping.
struct StepCount {
  int64_t trained = 0;
  int64_t full = 0;
};
StepCount CountSteps(const v1::Sweep& sweep);

}  // namespace gp::client
