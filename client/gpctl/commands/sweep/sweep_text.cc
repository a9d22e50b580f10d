#include "client/gpctl/commands/sweep/sweep_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/text/counted_noun.h"
#include "client/api/sweep_ranking.h"
#include "client/api/sweep_state_name.h"
#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/table.h"

namespace gp::gpctl {
namespace {

using client::Candidate;
using client::Compare;
using client::HasEnded;
using client::MeanDifference;
using client::RankCandidates;
using client::StateName;

std::string KeysText(const std::map<std::string, std::string>& keys) {
  std::string text;
  for (const auto& [key, value] : keys) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
  }
  return text;
}

std::vector<std::string> KeysOf(const std::vector<Candidate>& candidates) {
  std::vector<std::string> keys;
  if (candidates.empty()) return keys;
  for (const auto& [key, value] : candidates.front().keys) keys.push_back(key);
  return keys;
}

int Count(const Candidate& candidate, v1::TrialState state) {
  return static_cast<int>(std::ranges::count_if(
      candidate.trials, [state](const auto* trial) { return trial->state() == state; }));
}

// "done", "1 failed", "2 running".
std::string StatesText(const v1::Sweep& sweep, const Candidate& candidate) {
  const auto total = static_cast<int>(candidate.trials.size());
  std::vector<std::string> parts;
  for (int value = v1::TRIAL_STATE_WAITING; value <= v1::TRIAL_STATE_DELETED; ++value) {
    const auto state = static_cast<v1::TrialState>(value);
    const int count = Count(candidate, state);
    if (count == 0) continue;
    const bool never = state == v1::TRIAL_STATE_WAITING && HasEnded(sweep.state());
    const std::string name = never ? "not started" : StateName(state);
    parts.push_back(count == total ? name : fmt::format("{} {}", count, name));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string NumbersText(const Candidate& candidate) {
  std::vector<int> numbers;
  for (const v1::SweepTrial* trial : candidate.trials) numbers.push_back(trial->number());
  return fmt::format("{}", fmt::join(numbers, ","));
}

// "+0.0123", or "+0.0123 (noise)" when seeds differ as much.
std::string BehindText(const Candidate& first, const Candidate& candidate) {
  if (&first == &candidate) return "";
  if (candidate.share != first.share) return "fewer steps";
  const MeanDifference difference = Compare(first, candidate);
  const bool noise = difference.standard_error && !difference.is_clear();
  return fmt::format("{:+.4f}{}", difference.difference, noise ? " (noise)" : "");
}

std::string RankingTable(const v1::Sweep& sweep, const std::vector<Candidate>& candidates,
                         const TextStyle& style) {
  std::vector<Table::Column> columns = {{.title = "RANK", .align = Align::kRight}};
  for (const std::string& key : KeysOf(candidates)) {
    columns.push_back({.title = key, .align = Align::kRight});
  }
  columns.push_back({.title = "VAL_LOSS", .align = Align::kRight});
  columns.push_back({.title = "SPREAD", .align = Align::kRight, .rank = 1});
  columns.push_back({.title = "VS BEST", .align = Align::kLeft, .rank = 2});
  columns.push_back({.title = "STEPS", .align = Align::kRight, .rank = 3});
  columns.push_back({.title = "TRIALS", .align = Align::kLeft, .rank = 4});
  columns.push_back({.title = "STATE", .align = Align::kLeft});
  Table table(columns);
  int rank = 0;
  for (const Candidate& candidate : candidates) {
    std::vector<Table::Cell> cells;
    cells.emplace_back(candidate.has_loss() ? fmt::to_string(++rank) : "-");
    for (const auto& [key, value] : candidate.keys) cells.emplace_back(value);
    const bool known = candidate.has_loss();
    cells.emplace_back(known ? Loss(candidate.mean) : "-");
    cells.emplace_back(candidate.deviation ? fmt::format("{:.4f}", *candidate.deviation) : "-");
    cells.emplace_back(known ? BehindText(candidates.front(), candidate) : "");
    cells.emplace_back(known ? WithThousands(candidate.steps) : "-");
    cells.emplace_back(NumbersText(candidate));
    cells.emplace_back(StatesText(sweep, candidate));
    table.AddRow(std::move(cells));
  }
  return table.Render(style.width, style.utf8);
}

// Says whether the two best candidates differ by more than the noise of the seeds.
std::string NoiseSentence(const std::vector<Candidate>& candidates) {
  if (candidates.size() < 2 || !candidates[1].has_loss()) return "";
  const Candidate& first = candidates[0];
  const Candidate& second = candidates[1];
  const MeanDifference difference = Compare(first, second);
  if (first.share != second.share) {
    return "Rank 1 trained further than rank 2; their losses are not comparable.";
  }
  const bool repeated = first.trials.size() > 1 || second.trials.size() > 1;
  if (!difference.standard_error && repeated) {
    return fmt::format(
        "{} of rank 1 and {} of rank 2 got this far: the noise of the seeds is unknown.",
        CountedNoun(static_cast<int64_t>(first.ranked.size()), "seed"),
        CountedNoun(static_cast<int64_t>(second.ranked.size()), "seed"));
  }
  if (!difference.standard_error) {
    return "One seed each: the noise of seeds is unknown. repeats: {seeds: [1, 2, 3]} in the sweep "
           "file would show it.";
  }
  return fmt::format(
      "Ranks 1 and 2 differ by {:+.4f}, standard error {:.4f}, 95 % interval {:+.4f} to {:+.4f}: "
      "{}",
      difference.difference, *difference.standard_error, difference.difference - difference.margin,
      difference.difference + difference.margin,
      difference.is_clear() ? "more than the noise of the seeds."
                            : "within the noise of the seeds.");
}

std::string EarlyStopText(const v1::Sweep& sweep) {
  if (sweep.early_stop() == "median") {
    return fmt::format("median, from step {} on", WithThousands(sweep.min_steps()));
  }
  if (sweep.early_stop() != "halving") return "none";
  std::vector<std::string> rungs;
  for (const int64_t steps : sweep.rungs()) rungs.push_back(WithThousands(steps));
  const std::string whole = rungs.empty() ? "" : rungs.back();
  if (!rungs.empty()) rungs.pop_back();
  return fmt::format("halving: the best 1 of {} go on at steps {}, up to {}", sweep.eta(),
                     fmt::join(rungs, ", "), whole);
}

// Whether the trial trained as far as the sweep let it.
bool HasResult(const v1::SweepTrial& trial) {
  return trial.state() == v1::TRIAL_STATE_DONE || trial.state() == v1::TRIAL_STATE_STOPPED;
}

// A deleted trial has no loss any more.
std::string DeletedSentence(const v1::Sweep& sweep) {
  const auto deleted = std::ranges::count_if(sweep.trials(), [](const v1::SweepTrial& trial) {
    return trial.state() == v1::TRIAL_STATE_DELETED;
  });
  if (deleted == 0) return "";
  return fmt::format("The ranking is without {}, which {} deleted.", CountedNoun(deleted, "trial"),
                     deleted == 1 ? "was" : "were");
}

std::string StepsText(const v1::Sweep& sweep) {
  const client::StepCount count = client::CountSteps(sweep);
  if (count.full == 0) return fmt::format("{} trained", WithThousands(count.trained));
  const double saved = 1 - static_cast<double>(count.trained) / static_cast<double>(count.full);
  const bool tells = sweep.state() == v1::SWEEP_STATE_SUCCEEDED && sweep.early_stop() != "none" &&
                     std::ranges::all_of(sweep.trials(), HasResult);
  return fmt::format("{} trained of {}{}", WithThousands(count.trained), WithThousands(count.full),
                     tells ? fmt::format("; early stopping saved {}", Percent(saved)) : "");
}

// Why the trial has no result, or one after fewer steps; empty when it has one.
std::string WhyEnded(const v1::SweepTrial& trial) {
  if (trial.diverged()) return "diverged: its validation loss is not finite";
  if (trial.state() == v1::TRIAL_STATE_FAILED) return "failed: " + trial.reason();
  return trial.state() == v1::TRIAL_STATE_STOPPED ? trial.reason() : "";
}

std::string EndedText(const v1::Sweep& sweep, const TextStyle& style) {
  std::string text;
  for (const v1::SweepTrial& trial : sweep.trials()) {
    const std::string why = WhyEnded(trial);
    if (why.empty()) continue;
    const std::map<std::string, std::string> keys(trial.keys().begin(), trial.keys().end());
    const std::string line = fmt::format("trial {} ({}) {}", trial.number(), KeysText(keys), why);
    text += Wrapped(OneSafeLine(line, style.utf8), style.width, 2) + "\n";
  }
  return text;
}

}  // namespace

std::string ReferenceOf(const v1::Sweep& sweep) {
  return sweep.namespace_() == "default" ? sweep.name() : sweep.namespace_() + "/" + sweep.name();
}

std::string SweepDetails(const v1::Sweep& sweep, const TextStyle& style) {
  const std::vector<Candidate> candidates = RankCandidates(sweep);
  std::string text;
  const auto line = [&](const char* title, const std::string& value) {
    text +=
        Wrapped(OneSafeLine(fmt::format("{:<11} {}", title, value), style.utf8), style.width, 12) +
        "\n";
  };
  line("sweep",
       fmt::format("{}: {} ({})", ReferenceOf(sweep), StateName(sweep.state()), sweep.reason()));
  line("trials", fmt::format("{} of {} have ended; {} at a time", sweep.ended_trials(),
                             sweep.trial_count(), sweep.max_parallel()));
  line("early stop", EarlyStopText(sweep));
  line("steps", StepsText(sweep));
  text += "\n" + RankingTable(sweep, candidates, style);
  const std::string noise = NoiseSentence(candidates);
  if (!noise.empty()) text += "\n" + Wrapped(noise, style.width, 0) + "\n";
  const std::string deleted = DeletedSentence(sweep);
  if (!deleted.empty()) text += "\n" + Wrapped(deleted, style.width, 0) + "\n";
  const std::string ended = EndedText(sweep, style);
  if (!ended.empty()) text += "\n" + ended;
  return text;
}

std::string BestText(const v1::Sweep& sweep, const TextStyle& style) {
  const std::vector<Candidate> candidates = RankCandidates(sweep);
  const Candidate& best = candidates.front();
  const v1::SweepTrial& trial = *client::BestTrial(candidates);
  const std::map<std::string, std::string> keys(trial.keys().begin(), trial.keys().end());
  std::string text = fmt::format("{} (trial {} of {}): val_loss {} at step {}\n", trial.run_name(),
                                 trial.number(), ReferenceOf(sweep), Loss(trial.validation_loss()),
                                 WithThousands(trial.validation_step()));
  for (const auto& [key, value] : keys) text += fmt::format("  {}: {}\n", key, value);
  if (best.deviation) {
    text += fmt::format("  mean of {} seeds {}, standard deviation {:.4f}\n", best.ranked.size(),
                        Loss(best.mean), *best.deviation);
  }
  for (const std::string& sentence : {NoiseSentence(candidates), DeletedSentence(sweep)}) {
    if (!sentence.empty()) text += Wrapped(sentence, style.width, 0) + "\n";
  }
  return text;
}

std::string SweepTable(const std::vector<v1::Sweep>& sweeps, const TextStyle& style) {
  Table table({{.title = "SWEEP"},
               {.title = "STATE"},
               {.title = "ENDED", .align = Align::kRight},
               {.title = "TRIALS", .align = Align::kRight},
               {.title = "EARLY STOP", .rank = 1},
               {.title = "REASON", .shorten = true}});
  for (const v1::Sweep& sweep : sweeps) {
    table.AddRow({ReferenceOf(sweep), StateName(sweep.state()),
                  fmt::to_string(sweep.ended_trials()), fmt::to_string(sweep.trial_count()),
                  sweep.early_stop(), sweep.reason()});
  }
  return table.Render(style.width, style.utf8);
}

}  // namespace gp::gpctl
