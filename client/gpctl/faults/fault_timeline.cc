#include "client/gpctl/faults/fault_timeline.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace gp::gpctl {

int64_t Microseconds(const google::protobuf::Timestamp& time) {
  return time.seconds() * 1'000'000 + time.nanos() / 1000;
}

std::optional<double> SecondsToNextStep(const std::vector<v1::MetricPoint>& points,
                                        const Fault& fault) {
  std::optional<int64_t> first;
  for (const v1::MetricPoint& point : points) {
    const int64_t at = Microseconds(point.at());
    if (at <= fault.at_us || point.epoch() <= fault.ends_epoch) continue;
    first = std::min(first.value_or(at), at);
  }
  if (!first) return std::nullopt;
  return static_cast<double>(*first - fault.at_us) * 1e-6;
}

StepsRedone CountStepsRedone(const std::vector<v1::MetricPoint>& points,
                             const std::vector<v1::RunEvent>& events) {
  std::map<uint64_t, int64_t> first_of;  // by epoch
  for (const v1::MetricPoint& point : points) {
    const auto [place, is_new] = first_of.try_emplace(point.epoch(), point.step());
    if (!is_new) place->second = std::min(place->second, point.step());
  }
  StepsRedone redone;
  for (const v1::RunEvent& event : events) {
    const auto first = first_of.find(event.epoch());
    if (event.kind() != "placed" || first == first_of.end()) continue;
    int64_t last_before = 0;
    for (const v1::MetricPoint& point : points) {
      if (point.epoch() < event.epoch()) last_before = std::max(last_before, point.step());
    }
    redone.steps += std::max<int64_t>(last_before + 1 - first->second, 0);
    if (first->second > 1) ++redone.from_checkpoint;
  }
  return redone;
}

int64_t CountMissingSteps(const std::vector<v1::MetricPoint>& points) {
  std::set<int64_t> steps;
  for (const v1::MetricPoint& point : points) steps.insert(point.step());
  if (steps.empty()) return 0;
  return *steps.rbegin() - *steps.begin() + 1 - static_cast<int64_t>(steps.size());
}

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = std::ceil(share * static_cast<double>(values.size()));
  return values[static_cast<size_t>(std::max(place, 1.0)) - 1];
}

}  // namespace gp::gpctl
