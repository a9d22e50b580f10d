// TrainingRecord: the state of a checkpoint besides weights and moments that an exact resume needs:
// the key `record` of its manifest (docs/formats/checkpoint.md). Every value is text in the file; a
// value absent there is empty here. Values and pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/status.h"
#include "contract/field.h"

namespace gp::formats {

struct TrainingRecord {
  // The optimizer: its kind as in run files with the version of its arithmetic
  // (versioned_arithmetic.h), and how many updates it has made.
  std::optional<std::string> optimizer;
  std::optional<int64_t> updates;
  // What the run computes with: an instruction-set level or a GPU's kernels, the choices tuned for
  // them, the GPU's name, and the precision as in run files.
  std::optional<std::string> isa;
  std::optional<std::string> kernels;
  std::optional<std::string> device;
  std::optional<std::string> precision;
  std::optional<int64_t> micro_batch;  // sequences
  // The loss scale of fp16, and the steps without an overflow since it last changed.
  std::optional<double> loss_scale;
  std::optional<int64_t> finite_steps;
  // For a run with a time limit: its number of steps, once measured, and how many steps were
  // measured.
  std::optional<int64_t> step_budget;
  std::optional<int64_t> measured_steps;
  // State of early stopping.
  std::optional<double> best_loss;
  std::optional<int64_t> best_step;
  std::optional<int64_t> evaluations_without_gain;
  // What stability.on_divergence follows: count, mean and variance of the recent losses, how many
  // steps in a row were skipped, and all skipped steps ("37,120-131").
  std::optional<int64_t> losses;
  std::optional<double> loss_mean;
  std::optional<double> loss_variance;
  std::optional<int64_t> skips_in_a_row;
  std::optional<std::string> skipped_steps;
  std::optional<std::string> stream_position;  // resume position of data.stream: JSON
  // What the order of the training data depends on, as in run files.
  std::optional<uint64_t> seed;
  std::optional<std::string> order;
  std::optional<int64_t> sequence;     // tokens
  std::optional<std::string> trained;  // the parts that the run trains, as in `train`; absent: all
  std::optional<std::string> init_from;  // the model whose weights the run began with
  // Where the run's counters began (plan/training_start.h); absent: at 0.
  std::optional<int64_t> init_step;
  std::optional<int64_t> init_tokens;
  // Where an imported checkpoint, which has no optimizer state, came from.
  std::optional<std::string> imported_from;

  template <typename Visit>
  static constexpr void ForEachField(Visit&& visit) {
    using contract::FieldInfo;
    visit(FieldInfo{"optimizer"}, &TrainingRecord::optimizer);
    visit(FieldInfo{"updates"}, &TrainingRecord::updates);
    visit(FieldInfo{"isa"}, &TrainingRecord::isa);
    visit(FieldInfo{"kernels"}, &TrainingRecord::kernels);
    visit(FieldInfo{"device"}, &TrainingRecord::device);
    visit(FieldInfo{"precision"}, &TrainingRecord::precision);
    visit(FieldInfo{"micro_batch"}, &TrainingRecord::micro_batch);
    visit(FieldInfo{"loss_scale"}, &TrainingRecord::loss_scale);
    visit(FieldInfo{"finite_steps"}, &TrainingRecord::finite_steps);
    visit(FieldInfo{"step_budget"}, &TrainingRecord::step_budget);
    visit(FieldInfo{"measured_steps"}, &TrainingRecord::measured_steps);
    visit(FieldInfo{"best_loss"}, &TrainingRecord::best_loss);
    visit(FieldInfo{"best_step"}, &TrainingRecord::best_step);
    visit(FieldInfo{"evaluations_without_gain"}, &TrainingRecord::evaluations_without_gain);
    visit(FieldInfo{"losses"}, &TrainingRecord::losses);
    visit(FieldInfo{"loss_mean"}, &TrainingRecord::loss_mean);
    visit(FieldInfo{"loss_variance"}, &TrainingRecord::loss_variance);
    visit(FieldInfo{"skips_in_a_row"}, &TrainingRecord::skips_in_a_row);
    visit(FieldInfo{"skipped_steps"}, &TrainingRecord::skipped_steps);
    visit(FieldInfo{"stream_position"}, &TrainingRecord::stream_position);
    visit(FieldInfo{"seed"}, &TrainingRecord::seed);
    visit(FieldInfo{"order"}, &TrainingRecord::order);
    visit(FieldInfo{"sequence"}, &TrainingRecord::sequence);
    visit(FieldInfo{"trained"}, &TrainingRecord::trained);
    visit(FieldInfo{"init_from"}, &TrainingRecord::init_from);
    visit(FieldInfo{"init_step"}, &TrainingRecord::init_step);
    visit(FieldInfo{"init_tokens"}, &TrainingRecord::init_tokens);
    visit(FieldInfo{"imported_from"}, &TrainingRecord::imported_from);
  }

  bool operator==(const TrainingRecord&) const = default;
};

// The values that are set, as texts by key. Numbers are converted back exactly.
std::map<std::string, std::string> TextsOf(const TrainingRecord& record);

// Keys that this version does not have are ignored. InvalidArgument names the key whose text is not
// a number of 0 or more.
StatusOr<TrainingRecord> ParseTrainingRecord(const std::map<std::string, std::string>& texts);

}  // namespace gp::formats
