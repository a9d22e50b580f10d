#include "tasks/choice_result.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace gp::tasks {
namespace {

// The index of the least value; the first of equals. Every number is preferred to NaN.
int64_t Least(const std::vector<double>& values) {
  int64_t least = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    const double best = values[static_cast<size_t>(least)];
    if (values[i] < best || (std::isnan(best) && !std::isnan(values[i]))) {
      least = static_cast<int64_t>(i);
    }
  }
  return least;
}

ItemResult Judge(const ChoiceItem& item, std::span<const ChoiceRow> rows,
                 std::span<const double> nats) {
  ItemResult result{.line = item.line, .label = item.label, .nats = {nats.begin(), nats.end()}};
  std::vector<double> normalized;
  for (size_t i = 0; i < rows.size(); ++i) {
    result.lengths.push_back(rows[i].length);
    normalized.push_back(nats[i] / rows[i].length);
  }
  result.chosen = Least(result.nats);
  result.chosen_norm = Least(normalized);
  return result;
}

}  // namespace

ChoiceResult JudgeChoices(const ChoiceFile& file, std::span<const ChoiceRow> rows,
                          std::span<const double> nats) {
  GP_CHECK(std::ssize(rows) == file.row_count() && rows.size() == nats.size());
  ChoiceResult result;
  size_t first = 0;
  for (const ChoiceItem& item : file.items) {
    const size_t count = item.endings.size();
    result.items.push_back(Judge(item, rows.subspan(first, count), nats.subspan(first, count)));
    result.correct += result.items.back().chosen == item.label;
    result.correct_norm += result.items.back().chosen_norm == item.label;
    first += count;
  }
  return result;
}

std::string FormatItem(const ItemResult& item) {
  nlohmann::ordered_json json = {{"line", item.line}, {"label", item.label}};
  for (size_t i = 0; i < item.nats.size(); ++i) {
    json["logprobs"].push_back(-item.nats[i]);
    json["logprobs_norm"].push_back(-item.nats[i] / item.lengths[i]);
  }
  json["chosen"] = item.chosen;
  json["chosen_norm"] = item.chosen_norm;
  return json.dump();
}

}  // namespace gp::tasks
