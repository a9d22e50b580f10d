#include "client/gpctl/commands/sweep/sweep_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

namespace gp::gpctl {
namespace {

// A line through the means of more values would follow their noise.
constexpr size_t kMeansMax = 12;
// An axis is logarithmic when its largest value is at least this many times its smallest.
constexpr double kLogSpan = 8;

std::optional<double> NumberOf(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// Where each value of a key is on the x axis: at its number, or at its place in the sorted list of
// values when one of them is not a number.
struct Positions {
  std::map<std::string, double> of;
  bool are_numbers = true;
};

Positions PositionsOf(const std::set<std::string>& values) {
  Positions positions;
  for (const std::string& value : values) {
    const auto number = NumberOf(value);
    if (!number) positions.are_numbers = false;
    positions.of[value] = number.value_or(0);
  }
  if (positions.are_numbers) return positions;
  double place = 0;
  for (auto& [value, position] : positions.of) position = ++place;
  return positions;
}

std::string TitleOf(const std::string& key, const Positions& positions) {
  std::string title = "val_loss by " + key;
  if (positions.are_numbers) return title;
  std::string names;
  for (const auto& [value, position] : positions.of) {
    names += fmt::format("{}{:.0f}: {}", names.empty() ? "" : ", ", position, value);
  }
  return fmt::format("{} ({})", title, names);
}

Curve MeansOf(const std::map<double, std::vector<double>>& losses) {
  Curve curve{.label = "mean", .color = 0, .stroke = Stroke::kDashed};
  for (const auto& [x, of_value] : losses) {
    double sum = 0;
    for (const double loss : of_value) sum += loss;
    curve.x.push_back(x);
    curve.y.push_back(sum / static_cast<double>(of_value.size()));
  }
  return curve;
}

using Trials = std::vector<const v1::SweepTrial*>;

Chart ChartOf(const std::string& key, const Trials& trials) {
  std::set<std::string> values;
  for (const v1::SweepTrial* trial : trials) values.insert(trial->keys().at(key));
  const Positions positions = PositionsOf(values);
  Chart chart{.title = TitleOf(key, positions), .x_axis = AxisKind::kNumber};
  std::map<double, std::vector<double>> losses;
  for (const v1::SweepTrial* trial : trials) {
    losses[positions.of.at(trial->keys().at(key))].push_back(trial->validation_loss());
  }
  const double low = losses.begin()->first;
  const double high = losses.rbegin()->first;
  chart.x_log = positions.are_numbers && low > 0 && high / low >= kLogSpan;
  if (losses.size() <= kMeansMax) chart.curves.push_back(MeansOf(losses));
  for (const auto& [x, of_value] : losses) {
    for (const double loss : of_value) {
      chart.curves.push_back({.x = {x}, .y = {loss}, .color = 1, .faint = true});
    }
  }
  return chart;
}

}  // namespace

std::vector<KeyChart> ChartsOf(const v1::Sweep& sweep) {
  Trials trials;
  for (const v1::SweepTrial& trial : sweep.trials()) {
    if (trial.has_validation_loss()) trials.push_back(&trial);
  }
  std::vector<KeyChart> charts;
  if (trials.empty()) return charts;
  std::set<std::string> keys;
  for (const auto& [key, value] : trials.front()->keys()) keys.insert(key);
  keys.erase("seed");
  for (const std::string& key : keys) charts.push_back({key, ChartOf(key, trials)});
  return charts;
}

}  // namespace gp::gpctl
