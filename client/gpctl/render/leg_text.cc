#include "client/gpctl/render/leg_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plan/batch_ramp.h"
#include "plan/lr_schedule.h"
#include "runspec/batch_plan.h"

namespace gp::gpctl {
namespace {

const char* NameOf(runspec::ScheduleKind kind) {
  switch (kind) {
    case runspec::ScheduleKind::kCosine:
      return "cosine";
    case runspec::ScheduleKind::kLinear:
      return "linear";
    case runspec::ScheduleKind::kPower:
      return "power";
    case runspec::ScheduleKind::kWsd:
      return "wsd";
    case runspec::ScheduleKind::kConstant:
      return "constant";
  }
  return "";
}

std::string HorizonText(const runspec::RunSpec& spec, int64_t horizon, int64_t step) {
  const std::string kind = NameOf(spec.schedule.kind);
  if (spec.schedule.kind == runspec::ScheduleKind::kConstant) return "the schedule is constant";
  if (horizon <= step) {
    return fmt::format("the {} schedule ended at step {} (schedule.decay_steps)", kind, horizon);
  }
  return fmt::format("the {} schedule ends at step {}", kind, horizon);
}

}  // namespace

std::string PlaceText(int64_t step) {
  return step > 0 ? fmt::format("step {}", step) : std::string("the start");
}

std::string BeginningText(const v1::Leg& leg) {
  return fmt::format("{}: {}", PlaceText(leg.first_step()), leg.why_begun());
}

runspec::TrainingStart StartOf(const v1::Run& run, const runspec::RunSpec& spec) {
  if (!spec.KeepsData() || !run.has_parent()) return {};
  return {.step = run.parent().step(), .tokens = run.parent().tokens()};
}

double LearningRateAt(const runspec::RunSpec& spec, int64_t step,
                      const runspec::TrainingStart& start) {
  const auto plan = runspec::PlanBatch(spec);
  if (!plan.ok()) return 0;
  const int64_t target = runspec::TargetSteps(spec, start);
  const runspec::ScheduleSpec schedule = runspec::ScheduleInSteps(spec.schedule, *plan, start);
  if (target <= 0 && schedule.decay_steps <= 0) return 0;
  return runspec::LearningRate(schedule, spec.optimizer.lr, target, step);
}

std::string ScheduleText(const runspec::RunSpec& spec, int64_t step,
                         const runspec::TrainingStart& start) {
  const auto plan = runspec::PlanBatch(spec);
  if (!plan.ok()) return "";
  const int64_t target = runspec::TargetSteps(spec, start);
  const runspec::ScheduleSpec schedule = runspec::ScheduleInSteps(spec.schedule, *plan, start);
  const int64_t horizon = schedule.decay_steps > 0 ? schedule.decay_steps : target;
  if (horizon <= 0) return "the schedule is fitted to the run's wall time";
  std::string text =
      fmt::format("learning rate {:.3g} at step {}", LearningRateAt(spec, step, start), step);
  if (target > 0) {
    const int64_t last = std::max(step, target - 1);
    text += fmt::format(", {:.3g} at step {}", LearningRateAt(spec, last, start), last + 1);
  }
  return text + ": " + HorizonText(spec, horizon, step);
}

std::vector<client::KeyDifference> ChangesBetween(const std::string& before,
                                                  const std::string& after) {
  if (before.empty() || after.empty()) return {};
  std::array<v1::Run, 2> runs;
  runs[0].set_resolved(before);
  runs[1].set_resolved(after);
  auto differences = client::FindKeyDifferences(runs);
  if (!differences.ok()) return {};
  std::erase_if(*differences, [](const client::KeyDifference& one) {
    // A run that begins with a model writes the size of its vocabulary down.
    const bool found = one.key == "model.vocab" && one.values.at(0) == "auto";
    return found || one.key == "name" || one.key == "preset" || one.key.starts_with("init_");
  });
  return *std::move(differences);
}

std::string DifferencesText(const std::vector<client::KeyDifference>& differences) {
  std::string text;
  for (const client::KeyDifference& one : differences) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {} -> {}", one.key, one.values.at(0).value_or("none"),
                        one.values.at(1).value_or("none"));
  }
  return text;
}

}  // namespace gp::gpctl
