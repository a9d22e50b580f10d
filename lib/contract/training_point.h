// TrainingPoint: the measurements of one committed step of a run, as every part of gp uses them.
// Plain values; no thread rules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "contract/field.h"

namespace gp::contract {

// How the wall time of a step was spent, in seconds: disjoint phases that add up to the step.
struct StepPhases {
  double data_wait = 0;
  double forward = 0;
  double backward = 0;
  double allreduce_exposed = 0;  // the part not overlapped with backward
  double optimizer = 0;
  double other = 0;

  bool operator==(const StepPhases&) const = default;

  template <typename Visit>
  static constexpr void ForEachField(Visit&& visit) {
    visit(FieldInfo{"data_wait"}, &StepPhases::data_wait);
    visit(FieldInfo{"forward"}, &StepPhases::forward);
    visit(FieldInfo{"backward"}, &StepPhases::backward);
    visit(FieldInfo{"allreduce_exposed"}, &StepPhases::allreduce_exposed);
    visit(FieldInfo{"optimizer"}, &StepPhases::optimizer);
    visit(FieldInfo{"other"}, &StepPhases::other);
  }
};

struct TrainingPoint {
  int64_t step = 0;    // committed steps: the first point has 1
  int64_t tokens = 0;  // trained on since step 0
  double loss = 0;     // nats per token, before the update
  double learning_rate = 0;
  double gradient_norm = 0;               // before clipping
  double tokens_per_second = 0;           // of this step: its tokens on all ranks / step_seconds
  double mfu = 0;                         // 0 to 1, the share of peak_flops; 0 when that is unknown
  double step_seconds = 0;                // without evaluations, samples and saves between steps
  std::optional<double> validation_loss;  // nats per token, of an evaluation after this step
  // The evaluation's other results by name: kBitsPerByte, TASK/STYLE/acc, TASK/STYLE/acc_norm.
  std::map<std::string, double> scores;
  uint64_t epoch = 0;  // readers keep the highest epoch of a step
  // The update was not applied: the loss or the gradient was not finite, the fp16 loss scale was
  // too large, or, if `spike`, the loss was far above the recent ones (stability.spike_sigma).
  bool skipped = false;
  bool spike = false;
  StepPhases phases;
  double peak_flops = 0;    // FLOP/s of all ranks together; 0 when unknown
  std::string peak_source;  // "measured", "table"; empty when peak_flops is unknown
  // 0 to 1: the share of the step in which rank 0's threads were runnable but had no core, because
  // other processes used the cores; absent where the kernel does not count this.
  std::optional<double> processor_wait;
  int64_t target_steps = 0;  // the run's last step; 0 while unknown
  std::string warning;       // a sentence about something that a person should look at
  int64_t at_us = 0;         // wall clock, microseconds since 1970

  bool operator==(const TrainingPoint&) const = default;

  template <typename Visit>
  static constexpr void ForEachField(Visit&& visit) {
    using P = TrainingPoint;
    visit(FieldInfo{.name = "step",
                    .key = "step",
                    .gauge = "gp_run_step",
                    .help = "Last committed step; may fall after a restart"},
          &P::step);
    visit(FieldInfo{.name = "tokens", .key = "tokens"}, &P::tokens);
    visit(FieldInfo{.name = "loss",
                    .key = "loss",
                    .tag = "train/loss",
                    .gauge = "gp_train_loss",
                    .help = "Training loss of the last step, nats per token",
                    .charted = true},
          &P::loss);
    visit(FieldInfo{.name = "learning_rate",
                    .key = "lr",
                    .tag = "train/learning_rate",
                    .gauge = "gp_train_learning_rate",
                    .help = "Learning rate of the last step",
                    .charted = true},
          &P::learning_rate);
    visit(FieldInfo{.name = "gradient_norm",
                    .key = "grad_norm",
                    .tag = "train/gradient_norm",
                    .gauge = "gp_train_gradient_norm",
                    .help = "Gradient norm of the last step, before clipping",
                    .charted = true},
          &P::gradient_norm);
    visit(FieldInfo{.name = "tokens_per_second",
                    .key = "tokens_per_second",
                    .tag = "speed/tokens_per_second",
                    .gauge = "gp_run_tokens_per_second",
                    .help = "Tokens per second of the last step, all ranks",
                    .charted = true},
          &P::tokens_per_second);
    visit(FieldInfo{.name = "mfu",
                    .key = "mfu",
                    .tag = "speed/mfu",
                    .gauge = "gp_run_mfu",
                    .help = "Model FLOPs utilisation, 0 to 1; 0 when the peak is unknown",
                    .charted = true,
                    .zero_is_unknown = true},
          &P::mfu);
    visit(FieldInfo{.name = "step_seconds",
                    .key = "step_seconds",
                    .tag = "speed/step_seconds",
                    .charted = true},
          &P::step_seconds);
    visit(FieldInfo{.name = "validation_loss",
                    .key = "val_loss",
                    .tag = "validation/loss",
                    .charted = true},
          &P::validation_loss);
    visit(FieldInfo{.name = "scores", .omit_default = true}, &P::scores);
    visit(FieldInfo{.name = "epoch", .key = "epoch", .recorded = false}, &P::epoch);
    visit(FieldInfo{.name = "skipped", .key = "skipped"}, &P::skipped);
    visit(FieldInfo{.name = "spike", .key = "spike", .omit_default = true}, &P::spike);
    visit(FieldInfo{.name = "phases",
                    .key = "phases",
                    .gauge = "gp_run_step_phase_seconds",
                    .help =
                        "How rank 0 spent the wall time of the last step; the phases are disjoint"},
          &P::phases);
    visit(FieldInfo{.name = "peak_flops",
                    .key = "peak_flops",
                    .omit_default = true,
                    .zero_is_unknown = true},
          &P::peak_flops);
    visit(FieldInfo{.name = "peak_source", .key = "peak_source", .omit_default = true},
          &P::peak_source);
    visit(FieldInfo{.name = "processor_wait",
                    .key = "processor_wait",
                    .tag = "speed/processor_wait",
                    .gauge = "gp_run_processor_wait_ratio",
                    .help = "Share of the last step in which rank 0's threads were runnable but "
                            "had no core, 0 to 1; absent where the kernel does not count it"},
          &P::processor_wait);
    visit(FieldInfo{.name = "target_steps",
                    .key = "target_steps",
                    .gauge = "gp_run_target_steps",
                    .help = "Steps the run will take; 0 when unknown",
                    .recorded = false,
                    .omit_default = true,
                    .zero_is_unknown = true},
          &P::target_steps);
    visit(FieldInfo{.name = "warning", .key = "warning", .recorded = false, .omit_default = true},
          &P::warning);
    visit(FieldInfo{.name = "at_us"}, &P::at_us);
  }
};

// The name of a score: the validation loss in bits, for each byte of text.
inline constexpr char kBitsPerByte[] = "val_bpb";

// Whether a name may be a score's, so that it never collides with another JSON key: names of
// questions' scores contain a '/'.
inline bool IsScoreName(std::string_view name) {
  return name == kBitsPerByte || name.find('/') != std::string_view::npos;
}

}  // namespace gp::contract
