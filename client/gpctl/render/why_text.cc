#include "client/gpctl/render/why_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text/counted_noun.h"
#include "client/api/run_state_name.h"
#include "client/api/time_left.h"
#include "client/gpctl/render/node_text.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/render/step_words.h"
#include "client/gpctl/render/time_forecast.h"
#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

// Thresholds: findings below them are not worth a line.
constexpr double kSlowFactor = 1.25;
constexpr double kDataShare = 0.2;
constexpr double kAllReduceShare = 0.25;
constexpr double kBetweenStepsShare = 0.2;
constexpr double kProcessorWaitShare = 0.05;
constexpr double kSwapBytesPerSecond = 1 << 20;
// Tolerances before a machine counts as overloaded: a trainer has more threads than cores, and the
// load is an average.
constexpr double kSpareThreads = 0.5;
constexpr double kSpareFactor = 1.1;
// Steps shorter than this spend much of their time outside the matrix multiplications.
constexpr double kShortStepSeconds = 0.02;
constexpr size_t kHoldersMax = 5;

bool WaitsForSlots(const v1::Run& run) {
  return run.state() == v1::RUN_STATE_QUEUED || run.state() == v1::RUN_STATE_SUBMITTED;
}

// Whether the slot is of the kind (CPU or GPU) that the run needs. A run with `device: auto` that
// was never placed may use both kinds.
bool IsOfItsKind(const v1::Slot& slot, const v1::Run& run) {
  return run.device().empty() || IsGpu(slot) == (run.device() == "gpu");
}

std::string HolderText(const SlotHolder& holder, double now) {
  const std::string who = holder.name.empty() ? "a run that you may not see"
                                              : fmt::format("{} ({})", holder.name, holder.run_id);
  const std::string what =
      fmt::format("{}: {} on {}", who, CountedNoun(holder.slots, "slot"), holder.nodes);
  if (!holder.seconds_left) return what + ", end time unknown";
  return fmt::format("{}, for about {} more (until {})", what, DurationText(*holder.seconds_left),
                     DateTimeText(static_cast<int64_t>(now + *holder.seconds_left)));
}

void AddPassedOver(const v1::Run& run, const Surroundings& around, std::vector<Finding>& findings) {
  for (const v1::Node& node : around.nodes) {
    for (const v1::DataProblem& problem : node.data_problems()) {
      if (problem.run_id() == run.run_id()) {
        findings.push_back({"passed over", "node " + node.name() + ": " + problem.reason()});
      }
    }
  }
}

void ExplainWaiting(const v1::Run& run, const Surroundings& around, double now,
                    std::vector<Finding>& findings) {
  if (run.queue_position() > 0) {
    findings.push_back({"place", fmt::format("{} of all that wait for slots",
                                             WithThousands(run.queue_position()))});
  }
  const auto holders = HoldersOf(run, around);
  for (size_t i = 0; i < holders.size() && i < kHoldersMax; ++i) {
    findings.push_back({"held by", HolderText(holders[i], now)});
  }
  if (holders.size() > kHoldersMax) {
    findings.push_back(
        {"held by",
         fmt::format("{} more", CountedNoun(std::ssize(holders) - int64_t{kHoldersMax}, "run"))});
  }
  AddPassedOver(run, around, findings);
}

std::string PaceText(const v1::Run& run) {
  const double seconds = run.progress().step_seconds();
  const auto forecast = ForecastStep(run);
  if (!forecast) {
    const std::string mfu =
        MfuText(run.progress().mfu(), run.progress().peak_flops(), run.progress().peak_source());
    return StepTimeText(seconds) + " a step" + (mfu.empty() ? "" : ", " + mfu);
  }
  const double factor = seconds / forecast->step_seconds;
  if (factor < kSlowFactor) {
    return fmt::format("{} a step, as the forecast of {} says ({})", StepTimeText(seconds),
                       StepTimeText(forecast->step_seconds), forecast->basis);
  }
  return fmt::format("{} a step, {:.1f} times the forecast of {} ({})", StepTimeText(seconds),
                     factor, StepTimeText(forecast->step_seconds), forecast->basis);
}

// The number of CPU cores in the node's slots that runs hold.
int CoresOfRuns(const v1::Node& node) {
  int cores = 0;
  for (const v1::Slot& slot : node.slots()) {
    if (!slot.run_id().empty() && !IsGpu(slot)) cores += slot.cores_size();
  }
  return cores;
}

void AddMachine(const v1::Node& node, std::vector<Finding>& findings) {
  const v1::MachineLoad& load = node.load();
  if (load.cores() > 0 && load.runnable_threads() > load.cores() * kSpareFactor + kSpareThreads) {
    findings.push_back(
        {"machine", fmt::format("node {} is overloaded: {:.1f} runnable threads for its {}, of "
                                "which runs have {}; stop other programs there",
                                node.name(), load.runnable_threads(),
                                CountedNoun(load.cores(), "core"), CoresOfRuns(node))});
  }
  if (load.swap_bytes_per_second() > kSwapBytesPerSecond) {
    findings.push_back(
        {"swap",
         fmt::format("node {} moves {} per second to and from swap: its memory is too small for "
                     "what runs there; lower batch.micro_batch, or stop other "
                     "programs",
                     node.name(), Bytes(static_cast<uint64_t>(load.swap_bytes_per_second())))});
  }
}

void AddMachines(const v1::Run& run, const Surroundings& around, std::vector<Finding>& findings) {
  std::set<std::string> placed;
  for (const v1::RankPlacement& rank : run.placement()) placed.insert(rank.node_id());
  for (const v1::Node& node : around.nodes) {
    if (placed.contains(node.node_id())) AddMachine(node, findings);
  }
}

void AddProcessorWait(const v1::Progress& progress, std::vector<Finding>& findings) {
  if (progress.processor_wait() < kProcessorWaitShare) return;
  findings.push_back(
      {"cores", fmt::format("the trainer's threads waited {} of the time for a processor core: "
                            "another process uses the cores; stop it, or give the run fewer "
                            "threads than there are cores",
                            Percent(progress.processor_wait()))});
}

void AddPhases(const v1::Progress& progress, std::vector<Finding>& findings) {
  const double step = progress.step_seconds();
  const double data = progress.phases().data_wait() / step;
  if (data > kDataShare) {
    findings.push_back({"data", fmt::format("{} of a step waits for data: its storage is slow, or "
                                            "text is encoded while training; shards of 'gpctl data "
                                            "prepare' are read faster",
                                            Percent(data))});
  }
  const double exposed = progress.phases().allreduce_exposed() / step;
  if (exposed > kAllReduceShare) {
    findings.push_back(
        {"all-reduce",
         fmt::format(
             "{} of a step waits for other ranks: one is "
             "slower, or the network is; fewer workers or a larger batch.total_tokens reduce it",
             Percent(exposed))});
  }
  const double pace = progress.pace_seconds();
  const double between = pace > 0 ? 1 - step / pace : 0;
  if (between > kBetweenStepsShare) {
    findings.push_back(
        {"between", fmt::format("{} of the time goes into evaluations, samples and saves between "
                                "steps; raise eval.every, sample.every or checkpoint.every",
                                Percent(between))});
  }
}

void ExplainSpeed(const v1::Run& run, const Surroundings& around, std::vector<Finding>& findings) {
  const v1::Progress& progress = run.progress();
  if (progress.step_seconds() <= 0) return;
  findings.push_back({"speed", PaceText(run)});
  const size_t before = findings.size();
  AddMachines(run, around, findings);
  AddProcessorWait(progress, findings);
  if (progress.has_phases()) AddPhases(progress, findings);
  const auto forecast = ForecastStep(run);
  const bool slow = forecast && progress.step_seconds() > kSlowFactor * forecast->step_seconds;
  if (slow && findings.size() == before) {
    findings.push_back(
        {"cause",
         progress.step_seconds() < kShortStepSeconds
             ? "steps this short are mostly overhead; a larger batch.micro_batch uses the "
               "cores better"
             : "neither its nodes nor its phases explain it; 'gpctl bench step' measures the "
               "engine alone"});
  }
  if (progress.has_phases()) {
    findings.push_back({"phases", PhaseText(progress.phases(), progress.step_seconds(), 0)});
  }
}

}  // namespace

std::vector<SlotHolder> HoldersOf(const v1::Run& run, const Surroundings& around) {
  std::map<std::string, SlotHolder> by_run;
  for (const v1::Node& node : around.nodes) {
    std::set<std::string> named;  // runs whose `nodes` already contain this node
    for (const v1::Slot& slot : node.slots()) {
      if (slot.run_id().empty() || !IsOfItsKind(slot, run)) continue;
      SlotHolder& holder = by_run[slot.run_id()];
      holder.run_id = slot.run_id();
      ++holder.slots;
      if (!named.insert(slot.run_id()).second) continue;
      holder.nodes += (holder.nodes.empty() ? "" : ", ") + node.name();
    }
  }
  for (const v1::Run& live : around.live_runs) {
    const auto found = by_run.find(live.run_id());
    if (found == by_run.end()) continue;
    found->second.name = live.name();
    const double left = client::SecondsLeft(live.progress());
    if (live.state() == v1::RUN_STATE_RUNNING && left >= 0) found->second.seconds_left = left;
  }
  std::vector<SlotHolder> holders;
  for (auto& [id, holder] : by_run) holders.push_back(std::move(holder));
  std::stable_sort(holders.begin(), holders.end(), [](const auto& a, const auto& b) {
    if (!a.seconds_left || !b.seconds_left) return a.seconds_left && !b.seconds_left;
    return *a.seconds_left < *b.seconds_left;
  });
  return holders;
}

std::optional<StepForecast> ForecastStep(const v1::Run& run) {
  const v1::Progress& progress = run.progress();
  const double flops_per_step = progress.mfu() * progress.peak_flops() * progress.step_seconds();
  const int cores = run.workers() * run.choices().threads_per_rank();
  const auto rate = RateOfLevel(run.choices().isa());
  if (flops_per_step <= 0 || cores <= 0 || !rate) return std::nullopt;
  return StepForecast{flops_per_step / (rate->flops_per_second * cores), RateText(*rate, cores)};
}

std::vector<Finding> FindingsOn(const v1::Run& run, const Surroundings& around, double now) {
  std::vector<Finding> findings;
  if (WaitsForSlots(run)) ExplainWaiting(run, around, now, findings);
  if (run.state() == v1::RUN_STATE_BACKOFF) AddPassedOver(run, around, findings);
  if (run.state() == v1::RUN_STATE_RUNNING) ExplainSpeed(run, around, findings);
  if (run.state() == v1::RUN_STATE_PAUSED) {
    findings.push_back({"way out", fmt::format("gpctl resume {} continues it", run.name())});
  }
  if (IsWarned(run)) findings.push_back({"warning", run.progress().warning()});
  return findings;
}

std::string WhyText(const v1::Run& run, const Surroundings& around, double now,
                    const TextStyle& style) {
  std::string text = fmt::format("{} is {}: {}\n", run.name(), client::StateName(run.state()),
                                 OneSafeLine(run.reason(), style.utf8));
  for (const Finding& finding : FindingsOn(run, around, now)) {
    text += LabelledLine(finding.about, OneSafeLine(finding.text, style.utf8), style.width);
  }
  return text;
}

Json WhyFields(const v1::Run& run, const Surroundings& around, double now) {
  Json fields = {{"run_id", run.run_id()},
                 {"name", run.name()},
                 {"state", client::StateName(run.state())},
                 {"reason", run.reason()}};
  if (run.queue_position() > 0) fields["queue_position"] = run.queue_position();
  if (WaitsForSlots(run)) {
    fields["holders"] = Json::array();
    for (const SlotHolder& holder : HoldersOf(run, around)) {
      Json held = {{"run_id", holder.run_id}, {"slots", holder.slots}};
      if (!holder.name.empty()) held["name"] = holder.name;
      if (holder.seconds_left) held["seconds_left"] = *holder.seconds_left;
      fields["holders"].push_back(std::move(held));
    }
  }
  if (run.state() == v1::RUN_STATE_RUNNING && run.progress().step_seconds() > 0) {
    fields["step_seconds"] = run.progress().step_seconds();
    if (const auto forecast = ForecastStep(run)) {
      fields["forecast_step_seconds"] = forecast->step_seconds;
    }
  }
  fields["findings"] = Json::array();
  for (const Finding& finding : FindingsOn(run, around, now)) {
    fields["findings"].push_back({{"about", finding.about}, {"text", finding.text}});
  }
  return fields;
}

}  // namespace gp::gpctl
