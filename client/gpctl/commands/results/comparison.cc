#include "client/gpctl/commands/results/comparison.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text/counted_noun.h"
#include "client/api/run_state_name.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/render/step_words.h"
#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/table.h"

namespace gp::gpctl {
namespace {

constexpr int kMeanSteps = 50;  // of training losses: one step alone is noise
constexpr char kAbsent[] = "-";

bool IsShownElsewhere(const std::string& key) {
  return key == "name" || key.starts_with("labels.") || key == "note";
}

// Keys that decide which windows of which tokens an evaluation uses.
bool DecidesWindows(const std::string& key) {
  if (key == "data.order") return false;
  for (const char* prefix : {"data.", "tokenizer", "eval.batches", "batch.micro_batch",
                             "batch.sequence", "model.context", "model.vocab"}) {
    if (key.starts_with(prefix)) return true;
  }
  return false;
}

// Whether runs with other values of the key can train to other weights.
bool DecidesTraining(const std::string& key) {
  for (const char* prefix : {"sample.", "checkpoint.", "resources.", "retries", "priority"}) {
    if (key.starts_with(prefix)) return false;
  }
  return true;
}

std::optional<double> LastOf(const v1::CurvePoints& curve) {
  if (curve.values_size() == 0) return std::nullopt;
  return curve.values(curve.values_size() - 1);
}

// The index of the lowest value that is a number.
std::optional<int> BestOf(const v1::CurvePoints& curve) {
  std::optional<int> best;
  for (int i = 0; i < curve.values_size(); ++i) {
    if (std::isfinite(curve.values(i)) && (!best || curve.values(i) < curve.values(*best)))
      best = i;
  }
  return best;
}

std::optional<double> MeanAtEnd(const v1::CurvePoints& curve) {
  if (curve.steps_size() == 0) return std::nullopt;
  return MeanBefore(curve, PlaceOf(curve, curve.steps_size() - 1, AxisKind::kSteps),
                    AxisKind::kSteps, kMeanSteps);
}

std::string LossText(const std::optional<double>& value) {
  return value ? Loss(*value) : std::string(kAbsent);
}

// "3.2558 (-0.0152)": the value, and its difference from the first run's.
std::string LossBeside(const std::optional<double>& value, const std::optional<double>& first) {
  if (!value || !first || !std::isfinite(*value) || !std::isfinite(*first)) return LossText(value);
  return fmt::format("{} ({:+.4f})", Loss(*value), *value - *first);
}

const char* KeyOf(AxisKind kind) {
  return kind == AxisKind::kSteps ? "step" : kind == AxisKind::kTokens ? "tokens" : "seconds";
}

Json NumberOrNull(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

}  // namespace

Comparison::Comparison(std::vector<ComparedRun> runs, std::vector<PairedRuns> paired,
                       std::vector<client::KeyDifference> keys)
    : runs_(std::move(runs)), paired_(std::move(paired)), keys_(std::move(keys)) {
  std::erase_if(keys_, [](const auto& difference) { return IsShownElsewhere(difference.key); });
}

StatusOr<Comparison> Comparison::Make(std::vector<ComparedRun> runs,
                                      std::vector<PairedRuns> paired) {
  std::vector<v1::Run> whole;
  for (const ComparedRun& one : runs) whole.push_back(one.named.run);
  ASSIGN_OR_RETURN(auto keys, client::FindKeyDifferences(whole));
  return Comparison(std::move(runs), std::move(paired), std::move(keys));
}

std::vector<const v1::CurvePoints*> Comparison::Losses() const {
  std::vector<const v1::CurvePoints*> curves;
  for (const ComparedRun& one : runs_) curves.push_back(&one.loss);
  return curves;
}

std::vector<const v1::CurvePoints*> Comparison::Validations() const {
  std::vector<const v1::CurvePoints*> curves;
  for (const ComparedRun& one : runs_) curves.push_back(&one.validation);
  return curves;
}

void Comparison::AddRowsAt(AxisKind kind, std::vector<Row>& rows) const {
  std::optional<double> place = CommonEnd(Validations(), kind);
  if (kind == AxisKind::kSteps) {
    // Where every run was evaluated, if there is such a step.
    if (const auto step = CommonStep(Validations())) place = static_cast<double>(*step);
  }
  const auto add = [&](const char* field, double at, const auto& value_of) {
    Row row{.title = fmt::format("{} at {}", field, PlaceText(at, kind)),
            .key = fmt::format("{}_at_{}", field, KeyOf(kind))};
    for (const ComparedRun& one : runs_) row.values.push_back(value_of(one, at));
    const bool any = std::any_of(row.values.begin(), row.values.end(),
                                 [](const auto& value) { return value.has_value(); });
    if (any) rows.push_back(std::move(row));
  };
  if (place) {
    add("val_loss", *place,
        [kind](const ComparedRun& one, double at) { return ValueAt(one.validation, at, kind); });
  }
  if (const auto end = CommonEnd(Losses(), kind)) {
    add("loss", *end, [kind](const ComparedRun& one, double at) {
      return MeanBefore(one.loss, at, kind, kMeanSteps);
    });
  }
}

bool Comparison::StepsHaveEqualTokens() const {
  const auto end = CommonEnd(Losses(), AxisKind::kSteps);
  if (!end) return true;
  std::optional<int64_t> tokens;
  for (const ComparedRun& one : runs_) {
    const auto& steps = one.loss.steps();
    const auto found = std::lower_bound(steps.begin(), steps.end(), static_cast<int64_t>(*end));
    if (found == steps.end() || *found != static_cast<int64_t>(*end)) return false;
    const int64_t at = one.loss.tokens(static_cast<int>(found - steps.begin()));
    if (tokens && *tokens != at) return false;
    tokens = at;
  }
  return true;
}

std::vector<Comparison::Row> Comparison::RowsAtEqualPlaces() const {
  std::vector<Row> rows;
  AddRowsAt(AxisKind::kSteps, rows);
  // With equal batches the same steps have the same tokens.
  if (!StepsHaveEqualTokens()) AddRowsAt(AxisKind::kTokens, rows);
  AddRowsAt(AxisKind::kTime, rows);
  return rows;
}

Table Comparison::TableOf(const std::vector<size_t>& shown, double now, bool utf8) const {
  std::vector<Table::Column> columns = {{.title = "", .shorten = true}};
  for (const size_t i : shown) {
    columns.push_back(
        {.title = OneSafeLine(Label(i), utf8), .align = Align::kRight, .shorten = true});
  }
  Table table(std::move(columns));
  const auto add = [&](const std::string& title, const auto& cell_of) {
    std::vector<Table::Cell> cells = {title};
    for (const size_t i : shown) cells.emplace_back(OneSafeLine(cell_of(i), utf8));
    table.AddRow(std::move(cells));
  };
  const auto blank = [&] { add("", [](size_t) { return std::string(); }); };
  for (const client::KeyDifference& key : keys_) {
    add(key.key, [&](size_t i) { return key.values[i].value_or(kAbsent); });
  }
  if (!keys_.empty()) blank();
  const auto progress = [&](size_t i) -> const v1::Progress& {
    return runs_[i].named.run.progress();
  };
  add("state", [&](size_t i) { return StateWord(runs_[i].named.run); });
  add("steps", [&](size_t i) { return StepOfTarget(progress(i)); });
  add("tokens", [&](size_t i) { return CompactCount(static_cast<double>(progress(i).tokens())); });
  add("time", [&](size_t i) { return StepTimeText(ElapsedSeconds(runs_[i].named.run, now)); });
  add("tokens/s", [&](size_t i) {
    const double speed = progress(i).tokens_per_second();
    return speed > 0 ? CompactCount(speed) : std::string(kAbsent);
  });
  const auto first_loss = MeanAtEnd(runs_[0].loss);
  add(fmt::format("loss (last {} steps)", kMeanSteps), [&](size_t i) {
    return i == 0 ? LossText(first_loss) : LossBeside(MeanAtEnd(runs_[i].loss), first_loss);
  });
  const auto first_last = LastOf(runs_[0].validation);
  add("val_loss, last", [&](size_t i) {
    const auto last = LastOf(runs_[i].validation);
    return i == 0 ? LossText(last) : LossBeside(last, first_last);
  });
  const auto best = [&](size_t i) -> std::optional<double> {
    const auto index = BestOf(runs_[i].validation);
    return index ? std::optional(runs_[i].validation.values(*index)) : std::nullopt;
  };
  add("val_loss, best",
      [&](size_t i) { return i == 0 ? LossText(best(0)) : LossBeside(best(i), best(0)); });
  add("  of step", [&](size_t i) {
    const auto index = BestOf(runs_[i].validation);
    return index ? WithThousands(runs_[i].validation.steps(*index)) : std::string(kAbsent);
  });
  const std::vector<Row> rows = RowsAtEqualPlaces();
  if (!rows.empty()) blank();
  for (const Row& row : rows) {
    add(row.title, [&](size_t i) {
      return i == 0 ? LossText(row.values[0]) : LossBeside(row.values[i], row.values[0]);
    });
  }
  return table;
}

std::vector<std::vector<size_t>> Comparison::Blocks(double now, const TextStyle& style) const {
  std::vector<std::vector<size_t>> blocks = {{0}};
  for (size_t i = 1; i < runs_.size(); ++i) {
    std::vector<size_t> wider = blocks.back();
    wider.push_back(i);
    const bool fits =
        style.width <= 0 || wider.size() == 2 || TableOf(wider, now, style.utf8).Fits(style.width);
    if (fits) {
      blocks.back() = std::move(wider);
    } else {
      blocks.push_back({0, i});
    }
  }
  return blocks;
}

std::string Comparison::Text(double now, const TextStyle& style) const {
  std::string text;
  for (const std::vector<size_t>& block : Blocks(now, style)) {
    if (!text.empty()) text += "\n";
    text += TableOf(block, now, style.utf8).Render(style.width, style.utf8);
  }
  for (const std::string& sentence : Sentences(now)) {
    text += "\n" + Wrapped(OneSafeLine(sentence, style.utf8), style.width, 0) + "\n";
  }
  return text;
}

std::vector<std::string> Comparison::WindowKeys() const {
  std::vector<std::string> keys;
  for (const client::KeyDifference& difference : keys_) {
    if (DecidesWindows(difference.key)) keys.push_back(difference.key);
  }
  return keys;
}

std::string Comparison::WindowSentence() const {
  const bool evaluated = std::all_of(runs_.begin(), runs_.end(), [](const ComparedRun& one) {
    return one.validation.steps_size() > 0;
  });
  if (!evaluated) return "";
  const std::vector<std::string> keys = WindowKeys();
  if (!keys.empty()) {
    return fmt::format(
        "The runs were evaluated on different windows of text ({} differs), so a part of the "
        "difference of their validation losses comes from the windows.",
        keys.front());
  }
  std::string text =
      "Each evaluation of each run used the same windows of text, so no part of the difference "
      "comes from their choice.";
  if (paired_.empty()) {
    text +=
        " The runs record only the mean over the windows: --eval measures the newest checkpoints "
        "window by window, for the standard error.";
  }
  return text;
}

void Comparison::AddPairedSentences(std::vector<std::string>& sentences) const {
  for (const PairedRuns& pair : paired_) {
    const PairedDifference& paired = pair.paired;
    std::string text =
        fmt::format("On the same {} of {} tokens together, {} has the loss {} and {} {}",
                    CountedNoun(paired.windows, "block"), WithThousands(paired.tokens), pair.first,
                    Loss(paired.first), pair.second, Loss(paired.second));
    if (!std::isfinite(paired.difference)) {
      text += ": a loss is not finite.";
    } else if (!paired.standard_error) {
      text += fmt::format(": {:+.4f}. One block gives no standard error.", paired.difference);
    } else {
      const double margin = *paired.margin();
      text += fmt::format(": {:+.4f}, standard error {:.4f}, 95 % interval {:+.4f} to {:+.4f}. {}",
                          paired.difference, *paired.standard_error, paired.difference - margin,
                          paired.difference + margin,
                          paired.is_clear()
                              ? "It does not contain 0: these two checkpoints differ on such text."
                              : "It contains 0: this text does not show a difference.");
    }
    sentences.push_back(std::move(text));
  }
}

std::vector<Comparison::Repeats> Comparison::FindRepeats() const {
  const auto same = [&](size_t one, size_t other, bool seed_too) {
    return std::all_of(keys_.begin(), keys_.end(), [&](const client::KeyDifference& difference) {
      const bool counts = difference.key == "seed" ? seed_too : DecidesTraining(difference.key);
      return !counts || difference.values[one] == difference.values[other];
    });
  };
  std::vector<Repeats> groups;
  for (size_t run = 0; run < runs_.size(); ++run) {
    if (!LastOf(runs_[run].validation)) continue;
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const Repeats& group) {
      // A run with the same seed is not an independent sample.
      return same(group.runs.front(), run, false) &&
             std::none_of(group.runs.begin(), group.runs.end(),
                          [&](size_t one) { return same(one, run, true); });
    });
    if (found == groups.end()) {
      groups.push_back({.runs = {run}});
    } else {
      found->runs.push_back(run);
    }
  }
  for (Repeats& group : groups) {
    const auto count = static_cast<double>(group.runs.size());
    for (const size_t run : group.runs) group.mean += *LastOf(runs_[run].validation) / count;
    double squares = 0;
    for (const size_t run : group.runs) {
      const double deviation = *LastOf(runs_[run].validation) - group.mean;
      squares += deviation * deviation;
    }
    if (group.runs.size() > 1) group.deviation = std::sqrt(squares / (count - 1));
  }
  return groups;
}

std::string Comparison::SeedSentence() const {
  const std::vector<Repeats> groups = FindRepeats();
  if (groups.empty()) return "";
  const bool repeated = std::any_of(groups.begin(), groups.end(),
                                    [](const Repeats& group) { return group.runs.size() > 1; });
  if (!repeated) {
    return "One seed each: the noise of seeds is unknown. Runs that differ from these only in "
           "seed (--set seed=N) would show it.";
  }
  std::string text;
  for (const Repeats& group : groups) {
    if (group.runs.size() < 2) continue;
    std::string names;
    for (const size_t run : group.runs) names += (names.empty() ? "" : ", ") + Label(run);
    text += fmt::format(
        "{}{} differ only in the seed: their last val_loss is {} on average, with a standard "
        "deviation of {:.4f}.",
        text.empty() ? "" : " ", names, Loss(group.mean), group.deviation);
  }
  if (groups.size() == 2 && groups[0].runs.size() > 1 && groups[1].runs.size() > 1) {
    const auto variance = [](const Repeats& group) {
      return group.deviation * group.deviation / static_cast<double>(group.runs.size());
    };
    text += fmt::format(" The means differ by {:+.4f}, standard error {:.4f}.",
                        groups[1].mean - groups[0].mean,
                        std::sqrt(variance(groups[0]) + variance(groups[1])));
  } else if (groups.size() > 1) {
    text +=
        " A difference from a run with one seed is significant only if it is several times as "
        "large.";
  }
  return text;
}

std::vector<std::string> Comparison::Sentences(double now) const {
  std::vector<std::string> sentences;
  if (keys_.empty()) sentences.push_back("The run files have the same values.");
  for (const ComparedRun& one : runs_) {
    if (one.loss.steps_size() == 0) sentences.push_back(NoPointsText(one.named, now) + ".");
  }
  AddPairedSentences(sentences);
  for (std::string text : {WindowSentence(), SeedSentence()}) {
    if (!text.empty()) sentences.push_back(std::move(text));
  }
  return sentences;
}

Json Comparison::Fields(double now) const {
  Json fields = {{"runs", Json::array()}, {"keys", Json::array()}};
  for (const ComparedRun& one : runs_) {
    const v1::Run& run = one.named.run;
    const auto best = BestOf(one.validation);
    Json json = {{"run_id", run.run_id()},
                 {"name", run.name()},
                 {"state", client::StateName(run.state())},
                 {"step", run.progress().step()},
                 {"target_steps", run.progress().target_steps()},
                 {"tokens", run.progress().tokens()},
                 {"seconds", ElapsedSeconds(run, now)},
                 {"tokens_per_second", run.progress().tokens_per_second()},
                 {"loss", NumberOrNull(MeanAtEnd(one.loss))},
                 {"val_loss", NumberOrNull(LastOf(one.validation))}};
    if (best) {
      json["best_val_loss"] = one.validation.values(*best);
      json["best_val_step"] = one.validation.steps(*best);
    }
    fields["runs"].push_back(std::move(json));
  }
  for (const client::KeyDifference& difference : keys_) {
    Json values = Json::array();
    for (const auto& value : difference.values)
      values.push_back(value ? Json(*value) : Json(nullptr));
    fields["keys"].push_back({{"key", difference.key}, {"values", std::move(values)}});
  }
  fields["at_equal_places"] = Json::array();
  for (const Row& row : RowsAtEqualPlaces()) {
    Json values = Json::array();
    for (const auto& value : row.values) values.push_back(NumberOrNull(value));
    fields["at_equal_places"].push_back(
        {{"what", row.key}, {"title", row.title}, {"values", std::move(values)}});
  }
  fields["paired"] = Json::array();
  for (const PairedRuns& pair : paired_) {
    fields["paired"].push_back({{"first", pair.first},
                                {"second", pair.second},
                                {"blocks", pair.paired.windows},
                                {"tokens", pair.paired.tokens},
                                {"first_loss", NumberOrNull(pair.paired.first)},
                                {"second_loss", NumberOrNull(pair.paired.second)},
                                {"difference", NumberOrNull(pair.paired.difference)},
                                {"standard_error", NumberOrNull(pair.paired.standard_error)}});
  }
  fields["notes"] = Sentences(now);
  return fields;
}

}  // namespace gp::gpctl
