#include "client/api/sweep_ranking.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "client/api/student_quantile.h"

namespace gp::client {
namespace {

// Budgets may differ from candidate to candidate, for example in steps for equal tokens.
double ShareOf(const v1::SweepTrial& trial) {
  const bool whole =
      trial.state() == v1::TRIAL_STATE_DONE && trial.target_steps() >= trial.full_steps();
  if (whole) return 1;
  const auto steps = static_cast<double>(StepsOf(trial));
  return trial.full_steps() > 0 ? steps / static_cast<double>(trial.full_steps()) : 0;
}

void Measure(Candidate& candidate) {
  for (const v1::SweepTrial* trial : candidate.trials) {
    if (trial->has_validation_loss()) {
      candidate.steps = std::max(candidate.steps, StepsOf(*trial));
    }
  }
  for (const v1::SweepTrial* trial : candidate.trials) {
    const bool counts = trial->has_validation_loss() && StepsOf(*trial) == candidate.steps;
    if (counts) candidate.ranked.push_back(trial);
  }
  if (candidate.ranked.empty()) return;
  candidate.share = ShareOf(*candidate.ranked.front());
  const auto count = static_cast<double>(candidate.ranked.size());
  for (const auto* trial : candidate.ranked) candidate.mean += trial->validation_loss() / count;
  if (candidate.ranked.size() < 2) return;
  double squares = 0;
  for (const auto* trial : candidate.ranked) {
    const double deviation = trial->validation_loss() - candidate.mean;
    squares += deviation * deviation;
  }
  candidate.deviation = std::sqrt(squares / (count - 1));
}

// The variance of the mean, and its part of Welch's degrees of freedom.
std::pair<double, double> VarianceOf(const Candidate& candidate) {
  const auto count = static_cast<double>(candidate.ranked.size());
  const double variance = *candidate.deviation * *candidate.deviation / count;
  return {variance, variance * variance / (count - 1)};
}

}  // namespace

int64_t StepsOf(const v1::SweepTrial& trial) {
  return trial.state() == v1::TRIAL_STATE_DONE ? trial.target_steps() : trial.step();
}

std::vector<Candidate> RankCandidates(const v1::Sweep& sweep) {
  std::map<std::map<std::string, std::string>, Candidate> by_keys;
  for (const v1::SweepTrial& trial : sweep.trials()) {
    std::map<std::string, std::string> keys(trial.keys().begin(), trial.keys().end());
    keys.erase("seed");
    Candidate& candidate = by_keys[keys];
    candidate.keys = std::move(keys);
    candidate.trials.push_back(&trial);
  }
  std::vector<Candidate> candidates;
  for (auto& [keys, candidate] : by_keys) {
    Measure(candidate);
    candidates.push_back(std::move(candidate));
  }
  std::ranges::stable_sort(candidates, {}, [](const Candidate& candidate) {
    return std::tuple(!candidate.has_loss(), -candidate.share, candidate.mean,
                      candidate.trials.front()->number());
  });
  return candidates;
}

MeanDifference Compare(const Candidate& first, const Candidate& second) {
  MeanDifference result{.difference = second.mean - first.mean};
  if (!first.deviation || !second.deviation) return result;
  const auto [first_variance, first_part] = VarianceOf(first);
  const auto [second_variance, second_part] = VarianceOf(second);
  const double variance = first_variance + second_variance;
  result.standard_error = std::sqrt(variance);
  const double parts = first_part + second_part;
  const double degrees = parts > 0 ? variance * variance / parts : 1;
  result.margin = *result.standard_error *
                  StudentQuantile(std::max<int64_t>(1, std::llround(std::floor(degrees))));
  return result;
}

const v1::SweepTrial* BestTrial(const std::vector<Candidate>& candidates) {
  if (candidates.empty() || !candidates.front().has_loss()) return nullptr;
  return *std::ranges::min_element(candidates.front().ranked, {}, [](const v1::SweepTrial* trial) {
    return trial->validation_loss();
  });
}

StepCount CountSteps(const v1::Sweep& sweep) {
  StepCount count;
  for (const v1::SweepTrial& trial : sweep.trials()) {
    count.trained += trial.step();
    count.full += trial.full_steps();
  }
  return count;
}

}  // namespace gp::client
