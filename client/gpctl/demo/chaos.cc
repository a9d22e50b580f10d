#include "client/gpctl/demo/chaos.h"

#include <fmt/format.h>

#include <csignal>

#include "base/text/counted_noun.h"
#include "client/gpctl/faults/trainers.h"
#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

constexpr size_t kFaults = 3;
constexpr size_t kCoordinator = 2;  // the number of that fault

// The newest worker, so that two faults after each other meet different ones; 0 if there is none.
int SomeTrainer(const ServiceRecord& service) {
  const std::vector<int> trainers = TrainersOf(service.worker.pid);
  return trainers.empty() ? 0 : trainers.back();
}

std::string RanksText(const std::vector<v1::RunEvent>& events, uint64_t ends_epoch) {
  for (const v1::RunEvent& event : events) {
    const size_t at = event.reason().find("the run goes on with ");
    const bool next = event.kind() == "reconfigured" && event.epoch() == ends_epoch + 1;
    if (next && at != std::string::npos) return event.reason().substr(at);
  }
  return "the run started again from its newest checkpoint";
}

}  // namespace

// Does the fault with this number and returns what it did; "" when there was nothing to hurt.
std::string Chaos::Hurt(size_t number, const ServiceRecord& service) {
  if (number == kCoordinator) {
    if (!IsAlive(service.coordinator)) return "";
    kill(service.coordinator.pid, SIGKILL);
    return fmt::format("killed the coordinator (process {})", service.coordinator.pid);
  }
  const int trainer = SomeTrainer(service);
  if (trainer == 0) return "";
  kill(trainer, number == 0 ? SIGKILL : SIGSTOP);
  return fmt::format("{} a worker (process {})", number == 0 ? "killed" : "paused", trainer);
}

std::string Chaos::Strike(const ServiceRecord& service, const v1::Run& run, double now) {
  const bool trains = run.state() == v1::RUN_STATE_RUNNING && run.progress().target_steps() > 0;
  const bool recovers = !struck_.empty() && run.epoch() <= struck_.back().fault.ends_epoch;
  if (struck_.size() == kFaults || !trains || recovers) return "";
  if (began_ == 0) began_ = now;
  if (now < began_ + pause_ * static_cast<double>(struck_.size() + 1)) return "";
  const bool ends_group = struck_.size() != kCoordinator;
  const Fault fault{.at_us = static_cast<int64_t>(now * 1e6),
                    .ends_epoch = ends_group ? run.epoch() : 0};
  const std::string what = Hurt(struck_.size(), service);
  if (what.empty()) return "";
  struck_.push_back({what, fault});
  return what;
}

std::string Chaos::Report(const v1::Run& run, const std::vector<v1::MetricPoint>& points,
                          const std::vector<v1::RunEvent>& events) const {
  std::string text = "What happened\n";
  for (const Struck& struck : struck_) {
    const double after = static_cast<double>(struck.fault.at_us) * 1e-6 - began_;
    const auto next = SecondsToNextStep(points, struck.fault);
    const std::string ranks = struck.fault.ends_epoch == 0
                                  ? "training did not wait for it"
                                  : RanksText(events, struck.fault.ends_epoch);
    text += fmt::format("  after {:>4}  {:<42}  next step {}; {}\n", DurationText(after),
                        struck.what, next ? "after " + StepTimeText(*next) : "did not come", ranks);
  }
  if (struck_.size() < kFaults) text += "  the run ended before every fault was injected\n";
  const int64_t missing = CountMissingSteps(points);
  const StepsRedone redone = CountStepsRedone(points, events);
  text +=
      fmt::format("  {} of {} steps are missing; {} taken again from a checkpoint; {}\n", missing,
                  WithThousands(run.progress().step()), CountedNoun(redone.steps, "step"),
                  CountedNoun(static_cast<int64_t>(run.epoch()), "group") + " of ranks");
  return text;
}

}  // namespace gp::gpctl
