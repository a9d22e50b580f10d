#include "client/gpctl/render/run_model.h"

namespace gp::gpctl {
namespace {

// Limits, so that a run of a million steps does not fill gpctl's memory. A sparkline does not need
// more points.
constexpr size_t kPointsMax = 20000;
constexpr size_t kSamplesMax = 1000;
constexpr size_t kLinesMax = 1000;

template <typename T>
void PushBounded(std::deque<T>& queue, const T& value, size_t size_max) {
  queue.push_back(value);
  if (queue.size() > size_max) queue.pop_front();
}

void AddToCurves(const v1::MetricPoint& point, RunCurves& curves) {
  curves.loss.Add(point.step(), point.loss());
  curves.gradient_norm.Add(point.step(), point.gradient_norm());
  curves.learning_rate.Add(point.step(), point.learning_rate());
  curves.tokens_per_second.Add(point.step(), point.tokens_per_second());
  curves.validation.CutFrom(point.step());
  if (point.has_validation_loss()) curves.validation.Add(point.step(), point.validation_loss());
}

}  // namespace

void RunModel::Apply(const v1::Run& run) {
  run_ = run;
  for (const v1::NewestScore& score : run.progress().scores()) scores_[score.name()] = score;
  notice_.clear();
}

void RunModel::Apply(const v1::MetricPoint& point) {
  notice_.clear();
  while (!points_.empty() && points_.back().step() >= point.step()) points_.pop_back();
  PushBounded(points_, point, kPointsMax);
  AddToCurves(point, curves_);
  if (validation_ && validation_->step() > point.step()) validation_.reset();
  if (point.has_validation_loss()) validation_ = point;
  for (const v1::Score& score : point.scores()) {
    v1::NewestScore& newest = scores_[score.name()];
    newest.set_name(score.name());
    newest.set_value(score.value());
    newest.set_step(point.step());
  }
}

void RunModel::Apply(const v1::RunEvent& event) { events_.Add(event); }

void RunModel::Apply(const Sample& sample) {
  while (!samples_.empty() && samples_.back().step >= sample.step) samples_.pop_back();
  PushBounded(samples_, sample, kSamplesMax);
}

void RunModel::Apply(const v1::LogLine& line) {
  PushBounded(lines_, line, kLinesMax);
  if (line.rank() != 0) return;
  if (const auto sample = ParseSampleLine(line.text())) Apply(*sample);
}

}  // namespace gp::gpctl
