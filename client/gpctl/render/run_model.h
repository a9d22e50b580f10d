// RunModel: the data of a live screen. A value; messages of streams are applied to it in the order
// in which they arrive. Not thread-safe; RunFeed guards one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/api/sample_line.h"
#include "client/gpctl/render/newest_events.h"
#include "client/gpctl/render/thinned_curve.h"
#include "gp/v1/run.pb.h"

namespace gp::gpctl {

using client::ParseSampleLine;
using client::Sample;

// The whole run, from its first step.
struct RunCurves {
  ThinnedCurve loss;
  ThinnedCurve validation;
  ThinnedCurve tokens_per_second;
  ThinnedCurve gradient_norm;
  ThinnedCurve learning_rate;
};

class RunModel {
 public:
  void Apply(const v1::Run& run);
  // A step that is repeated after a restart replaces the old point and all later ones.
  void Apply(const v1::MetricPoint& point);
  void Apply(const v1::RunEvent& event);
  void Apply(const Sample& sample);
  void Apply(const v1::LogLine& line);

  // The time budget of a run that trains for a time instead of a number of steps; 0: none.
  void SetTimeBudget(double seconds) { time_budget_seconds_ = seconds; }
  double time_budget_seconds() const { return time_budget_seconds_; }

  // The reason why no updates arrive; the next Apply of a run or a point clears it.
  void SetNotice(const std::string& notice) { notice_ = notice; }
  const std::string& notice() const { return notice_; }

  const v1::Run& run() const { return run_; }
  // Oldest first, at most 20,000.
  const std::deque<v1::MetricPoint>& points() const { return points_; }
  // The newest 40 (NewestEvents), oldest first.
  const std::deque<v1::RunEvent>& events() const { return events_.events(); }
  const RunCurves& curves() const { return curves_; }
  const std::deque<Sample>& samples() const { return samples_; }   // oldest first
  const std::deque<v1::LogLine>& lines() const { return lines_; }  // the newest 1000, oldest first
  // The newest step with a validation loss; null before the first.
  const v1::MetricPoint* validation() const { return validation_ ? &*validation_ : nullptr; }
  // The newest score of each name.
  const std::map<std::string, v1::NewestScore>& scores() const { return scores_; }

 private:
  v1::Run run_;
  double time_budget_seconds_ = 0;
  std::string notice_;
  std::deque<v1::MetricPoint> points_;
  NewestEvents events_{40};
  RunCurves curves_;
  std::deque<Sample> samples_;
  std::deque<v1::LogLine> lines_;
  std::optional<v1::MetricPoint> validation_;
  std::map<std::string, v1::NewestScore> scores_;
};

}  // namespace gp::gpctl
