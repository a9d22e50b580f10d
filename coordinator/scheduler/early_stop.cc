#include "coordinator/scheduler/early_stop.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gp::coordinator {
namespace {

constexpr double kWorst = std::numeric_limits<double>::infinity();

double LossUpTo(const Run& run, int64_t step) {
  const auto best = BestUpTo(run, step);
  return best ? best->loss : kWorst;
}

// REQUIRES: at least one value.
double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

// The lowest losses of the other trials up to `step`, of those that reached it.
std::vector<double> OthersUpTo(int64_t step, const TrialResults& results, size_t trial) {
  std::vector<double> losses;
  for (size_t other = 0; other < results.size(); ++other) {
    const auto& run = results[other].run;
    if (other == trial || run == nullptr || LastEvaluatedStep(*run) < step) continue;
    losses.push_back(LossUpTo(*run, step));
  }
  return losses;
}

struct RankedTrial {
  double loss = 0;
  size_t trial = 0;

  auto operator<=>(const RankedTrial&) const = default;
};

// The trials that were evaluated at this step, the lowest loss first.
std::vector<RankedTrial> RankAt(int64_t step, const TrialResults& results) {
  std::vector<RankedTrial> places;
  for (size_t trial = 0; trial < results.size(); ++trial) {
    const auto& run = results[trial].run;
    if (run == nullptr) continue;
    if (const auto loss = LossAt(*run, step)) places.push_back({*loss, trial});
  }
  std::ranges::sort(places);
  return places;
}

// Whether the trial may train on beyond `step`, where its budget has ended.
bool MayTrainOn(const TrialResult& result, int64_t step) {
  return result.state == TrialState::kDone && result.run->submission->target_steps <= step;
}

}  // namespace

std::string WhyStopped(const EarlyStop& early_stop, const TrialResults& results, size_t trial) {
  const TrialResult& result = results[trial];
  if (early_stop.kind != EarlyStopKind::kMedian || result.state != TrialState::kLive) return "";
  // A user has resumed or extended it: the sweep gives no legs to trials that the median stops.
  if (result.run->leg.number > 1) return "";
  const int64_t step = LastEvaluatedStep(*result.run);
  if (step < early_stop.min_steps || step < 0) return "";
  const std::vector<double> others = OthersUpTo(step, results, trial);
  if (others.size() < kMedianOthersMin) return "";
  const double own = LossUpTo(*result.run, step);
  const double median = Median(others);
  if (!(own > median)) return "";
  return fmt::format(
      "stopped by its sweep: its lowest val_loss {:.4f} at step {} is above {:.4f}, the median of "
      "{} other trials",
      own, step, median, others.size());
}

std::vector<Promotion> Promotions(const EarlyStop& early_stop, const TrialResults& results) {
  std::vector<Promotion> promotions;
  for (size_t next = 1; next < early_stop.rungs.size(); ++next) {
    const int64_t step = early_stop.rungs[next - 1];
    std::vector<RankedTrial> places = RankAt(step, results);
    places.resize(places.size() / static_cast<size_t>(early_stop.eta));
    for (const RankedTrial& place : places) {
      const bool goes_on = std::isfinite(place.loss) && MayTrainOn(results[place.trial], step);
      if (goes_on) promotions.push_back({place.trial, next});
    }
  }
  return promotions;
}

}  // namespace gp::coordinator
