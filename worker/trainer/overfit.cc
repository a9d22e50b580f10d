#include "worker/trainer/overfit.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <stop_token>

#include "base/exit_code.h"
#include "base/stop_signals.h"
#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/step/training_error.h"
#include "worker/engine/step/training_step.h"
#include "worker/trainer/failure.h"
#include "worker/trainer/prepared_run.h"

namespace gp::engine {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int64_t kRowsMax = 4;
constexpr int64_t kWarmupSteps = 10;
constexpr int64_t kReportEvery = 10;
// The number of the run's steps whose batches are searched for rows.
constexpr int64_t kStepsSearched = 100;

void PrintLine(const OrderedJson& json) {
  std::printf("%s\n", json.dump().c_str());
  std::fflush(stdout);
}

// One batch. Its rows begin with different tokens, so that no context occurs twice: a context with
// two different continuations would keep the loss above zero however well the model learns.
class KnownBatch {
 public:
  explicit KnownBatch(const BatchSource& batches)
      : rows_(batches.rows()), sequence_(static_cast<size_t>(batches.sequence())) {
    std::vector<int32_t> tokens(static_cast<size_t>(rows_) * sequence_), targets(tokens.size());
    for (int64_t step = 0; step < kStepsSearched && !complete(); ++step) {
      ThrowIfError(contract::ExitCause::kConfig, batches.Fill(step, 0, 0, tokens, targets));
      for (size_t row = 0; row < static_cast<size_t>(rows_) && !complete(); ++row) {
        AddRow(std::span(tokens).subspan(row * sequence_, sequence_),
               std::span(targets).subspan(row * sequence_, sequence_));
      }
    }
  }

  // If a text has fewer distinct first tokens than rows, rows are repeated, which is harmless.
  void Fill(std::span<int32_t> tokens, std::span<int32_t> targets) const {
    for (size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = tokens_[i % tokens_.size()];
      targets[i] = targets_[i % targets_.size()];
    }
  }

 private:
  bool complete() const { return static_cast<int64_t>(firsts_.size()) == rows_; }

  void AddRow(std::span<const int32_t> tokens, std::span<const int32_t> targets) {
    if (!firsts_.insert(tokens[0]).second) return;
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    targets_.insert(targets_.end(), targets.begin(), targets.end());
  }

  const int64_t rows_;
  const size_t sequence_;
  std::set<int32_t> firsts_;
  std::vector<int32_t> tokens_;
  std::vector<int32_t> targets_;
};

class Overfitting {
 public:
  Overfitting(const runspec::RunSpec& spec, const Clock& clock)
      : run_(PrepareRun(spec, {.threads = ThreadsOf(spec)})),
        group_(MakeLocalGroup(1, run_.plan.logical_shards)),
        clock_(clock) {
    CompleteRun({.threads = ThreadsOf(spec)}, {}, *group_[0], run_);
  }

  bool Run(const std::stop_token& stop) {
    const KnownBatch batch(*run_.batches);
    TrainingStep training_step(
        run_.spec, run_.plan, *run_.model,
        [&batch](int64_t, int, int64_t, std::span<int32_t> tokens, std::span<int32_t> targets) {
          batch.Fill(tokens, targets);
        },
        *group_[0], clock_);
    training_step.set_schedule_steps(kOverfitStepsMax);
    StepResult last;
    do {
      last = training_step.Run(stop);
      if (last.step == 1 || last.step % kReportEvery == 0) Report(last);
    } while (!Learned(last) && last.step < kOverfitStepsMax);
    PrintLine({{"learned", Learned(last)},
               {"step", last.step},
               {"loss", last.loss},
               {"parameters", runspec::ParameterCount(run_.spec.model)},
               {"tokens", run_.plan.tokens_per_step}});
    return Learned(last);
  }

 private:
  static bool Learned(const StepResult& result) { return result.loss < kOverfitLoss; }

  static void Report(const StepResult& result) {
    PrintLine({{"step", result.step},
               {"loss", result.loss},
               {"grad_norm", result.gradient_norm},
               {"step_seconds", result.seconds}});
  }

  PreparedRun run_;
  const std::vector<std::unique_ptr<Communicator>> group_;  // a group of one rank
  const Clock& clock_;
};

}  // namespace

runspec::RunSpec ForOverfitting(runspec::RunSpec spec) {
  spec.init_optimizer = spec.init_data = runspec::InitState::kReset;
  spec.resources.workers = spec.resources.min_workers = spec.resources.max_workers = 1;
  spec.batch.micro_batch =
      std::min(spec.batch.micro_batch_auto ? kRowsMax : spec.batch.micro_batch, kRowsMax);
  spec.batch.micro_batch_auto = false;
  spec.batch.total_tokens = 0;
  spec.batch.ramp_from_tokens = spec.batch.ramp_steps = 0;
  spec.model.dropout = 0;
  spec.optimizer.weight_decay = 0;
  spec.schedule = {.kind = runspec::ScheduleKind::kConstant, .warmup_steps = kWarmupSteps};
  spec.sample.every_steps = 0;
  return spec;
}

int RunOverfit(const StandaloneOptions& options, const Clock& clock) {
  std::stop_source stop;
  const StopSignals signals([&stop](const std::string&) { stop.request_stop(); });
  try {
    Overfitting overfitting(ForOverfitting(LoadSpecFile(options)), clock);
    return overfitting.Run(stop.get_token()) ? ProcessStatus(ExitCode::kOk)
                                             : ProcessStatus(ExitCode::kFailure);
  } catch (const TrainingStopped&) {
    return ProcessStatus(ExitCode::kFailure);
  } catch (...) {
    return PrintFailure(CurrentFailure());
  }
}

}  // namespace gp::engine
