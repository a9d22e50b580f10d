#include "client/gpctl/render/run_model.h"

#include <charconv>
#include <string_view>

namespace gp::gpctl {
namespace {

// A sparkline needs no more, and a run of a million steps must not fill the memory of who watches
// it.
constexpr size_t kPointsMax = 20000;
constexpr size_t kEventsMax = 5;
constexpr size_t kSamplesMax = 1000;

template <typename T>
void PushBounded(std::deque<T>& queue, const T& value, size_t size_max) {
  queue.push_back(value);
  if (queue.size() > size_max) queue.pop_front();
}

// A value as base/log.h quotes it: \" \\ and \n.
std::string Unquoted(std::string_view quoted) {
  std::string text;
  for (size_t i = 0; i < quoted.size() && quoted[i] != '"'; ++i) {
    if (quoted[i] == '\\' && i + 1 < quoted.size()) {
      ++i;
      text += quoted[i] == 'n' ? '\n' : quoted[i];
    } else {
      text += quoted[i];
    }
  }
  return text;
}

}  // namespace

std::optional<Sample> ParseSampleLine(const std::string& line) {
  static constexpr std::string_view kStep = "sample step=";
  static constexpr std::string_view kText = " text=";
  const size_t step_at = line.find(kStep);
  const size_t text_at = step_at == std::string::npos ? step_at : line.find(kText, step_at);
  if (text_at == std::string::npos) return std::nullopt;
  Sample sample;
  const char* begin = line.data() + step_at + kStep.size();
  if (std::from_chars(begin, line.data() + text_at, sample.step).ec != std::errc())
    return std::nullopt;
  const std::string_view value = std::string_view(line).substr(text_at + kText.size());
  sample.text = value.starts_with('"') ? Unquoted(value.substr(1)) : std::string(value);
  return sample;
}

void RunModel::Apply(const v1::Run& run) {
  run_ = run;
  notice_.clear();
}

void RunModel::Apply(const v1::MetricPoint& point) {
  notice_.clear();
  while (!points_.empty() && points_.back().step() >= point.step()) points_.pop_back();
  PushBounded(points_, point, kPointsMax);
  if (validation_ && validation_->step() > point.step()) validation_.reset();
  if (point.has_validation_loss()) validation_ = point;
}

void RunModel::Apply(const v1::RunEvent& event) { PushBounded(events_, event, kEventsMax); }

void RunModel::Apply(const Sample& sample) {
  while (!samples_.empty() && samples_.back().step >= sample.step) samples_.pop_back();
  PushBounded(samples_, sample, kSamplesMax);
}

}  // namespace gp::gpctl
