#include "client/gpctl/render/step_words.h"

#include <fmt/format.h>

#include "client/gpctl/terminal/fitted_line.h"
#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

constexpr double kShownWait = 0.01;  // share of the time

std::string FlopsText(double flops) {
  if (flops >= 1e15) return fmt::format("{:.2f} PFLOP/s", flops / 1e15);
  if (flops >= 1e12) return fmt::format("{:.2f} TFLOP/s", flops / 1e12);
  return fmt::format("{:.0f} GFLOP/s", flops / 1e9);
}

}  // namespace

std::string StepOfTarget(const v1::Progress& progress) {
  if (progress.target_steps() <= 0) return WithThousands(progress.step());
  return WithThousands(progress.step()) + "/" + WithThousands(progress.target_steps());
}

std::string PhaseText(const v1::PhaseSeconds& phases, double step_seconds, int width) {
  if (step_seconds <= 0) return "";
  const auto share = [step_seconds](const char* name, double seconds) {
    return fmt::format("{} {:.0f}%", name, 100 * seconds / step_seconds);
  };
  return FittedLine({{share("forward", phases.forward())},
                     {share("backward", phases.backward())},
                     {share("all-reduce", phases.allreduce_exposed())},
                     {share("optim", phases.optimizer()), 1},
                     {share("data", phases.data_wait())},
                     {share("other", phases.other()), 2}},
                    " ", width);
}

std::string ProcessorWaitText(const v1::Progress& progress) {
  if (progress.processor_wait() < kShownWait) return "";
  return fmt::format("its threads waited {} of the time for a processor core",
                     Percent(progress.processor_wait()));
}

std::string MfuText(double mfu, double peak_flops, const std::string& peak_source) {
  if (mfu <= 0) return "";
  std::string text = "MFU " + Percent(mfu);
  if (peak_flops <= 0) return text;
  text += " of " + FlopsText(peak_flops);
  return peak_source.empty() ? text : fmt::format("{} ({})", text, peak_source);
}

}  // namespace gp::gpctl
