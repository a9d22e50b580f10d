#include "client/gpctl/commands/legs/fork_text.h"

#include <fmt/format.h>

#include "base/text/counted_noun.h"
#include "base/text/thousands.h"
#include "client/gpctl/render/leg_text.h"
#include "plan/batch_ramp.h"
#include "runspec/batch_plan.h"

namespace gp::gpctl {
namespace {

std::string ForkLine(const char* label, const std::string& text) {
  return text.empty() ? "" : fmt::format("  {:<10}{}\n", label, text);
}

std::string KeptText(const ForkRunFile& fork) {
  const bool optimizer = fork.spec.KeepsOptimizer();
  if (!fork.spec.KeepsData()) {
    return fmt::format("{}; steps, schedule and data begin at 0: {}",
                       optimizer ? "weights and optimizer" : "weights alone", fork.why_data_reset);
  }
  return optimizer ? "weights, optimizer, position in the data"
                   : "weights and position in the data; the optimizer starts with an empty state";
}

std::string BeginningOf(const ForkSource& source) {
  const std::string tokens =
      source.tokens > 0 ? fmt::format(", after {} tokens", WithThousands(source.tokens)) : "";
  const std::string id = source.run_id.empty() ? "" : fmt::format(" ({})", source.run_id);
  const std::string where =
      source.run_id.empty() ? fmt::format(", step {}", WithThousands(source.step)) : std::string();
  return fmt::format(
      "{}{}{}{}{}", source.text, id, where, tokens,
      source.superseded ? "; a later leg of the run began before that step (superseded)" : "");
}

std::string WorkText(const ForkRunFile& fork) {
  const int64_t target = runspec::TargetSteps(fork.spec, fork.start);
  const auto plan = runspec::PlanBatch(fork.spec);
  if (!plan.ok()) return "";
  if (target <= 0) {
    return fmt::format("from {} until its wall time is used up", PlaceText(fork.start.step));
  }
  const int64_t tokens = runspec::TokensBefore(*plan, target, fork.start) - fork.start.tokens;
  return fmt::format("{}, from {} to step {}: {} tokens",
                     CountedNoun(target - fork.start.step, "step"), PlaceText(fork.start.step),
                     WithThousands(target), WithThousands(tokens));
}

std::string ParentsRate(const ForkSource& source, const ForkRunFile& fork) {
  const double rate = LearningRateAt(fork.parent, source.step, source.start);
  const bool ended = source.step >= runspec::TargetSteps(fork.parent, source.start);
  if (rate == 0 || ended) return "";
  return fmt::format("learning rate {:.3g} in {} at step {}", rate, source.run,
                     WithThousands(source.step));
}

}  // namespace

std::string ForkText(const ForkSource& source, const ForkRunFile& fork) {
  return ForkLine("from", BeginningOf(source)) + ForkLine("keeps", KeptText(fork)) +
         ForkLine("changes", DifferencesText(fork.changes)) + ForkLine("trains", WorkText(fork)) +
         ForkLine("parent", ParentsRate(source, fork)) +
         ForkLine("fork", ScheduleText(fork.spec, fork.start.step, fork.start));
}

}  // namespace gp::gpctl
