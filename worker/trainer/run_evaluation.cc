#include "worker/trainer/run_evaluation.h"

#include "base/failpoint.h"
#include "base/machine/progress.h"
#include "contract/training_point.h"
#include "tasks/choice_result.h"
#include "worker/engine/step/training_error.h"
#include "worker/evaluator/evaluator.h"
#include "worker/trainer/data_failure.h"

namespace gp::engine {
namespace {

void ThrowIfStopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw TrainingStopped{};
}

}  // namespace

RunEvaluation::RunEvaluation(PreparedRun& run, Communicator& communicator)
    : run_(run),
      communicator_(communicator),
      token_bytes_(*run.dataset.tokenizer),
      tokens_(static_cast<size_t>(run.spec.batch.micro_batch * run.spec.batch.sequence)),
      targets_(tokens_.size()) {}

void RunEvaluation::Validate(const std::stop_token& stop, Evaluated& evaluated) {
  if (run_.validation == nullptr) return;
  const progress::InPhase phase(progress::Phase::kEvaluation);
  Failpoint("trainer.evaluation");
  const auto evaluation = Evaluate(
      *run_.model, communicator_, run_.validation->batch_count(),
      [&](int64_t index) {
        ThrowIfStopped(stop);
        return ValidationBatch(index);
      },
      token_bytes_);
  if (!evaluation) return;
  evaluated.loss = evaluation->loss;
  if (const auto bits = evaluation->bits_per_byte()) {
    evaluated.scores[contract::kBitsPerByte] = *bits;
  }
}

void RunEvaluation::AskTasks(const std::stop_token& stop, Evaluated& evaluated) {
  const progress::InPhase phase(progress::Phase::kEvaluation);
  for (const PreparedTask& task : run_.tasks) {
    const std::vector<double> nats =
        ScorerOf(task).Score(*run_.model, communicator_, [&] { ThrowIfStopped(stop); });
    const auto result = tasks::JudgeChoices(task.file, task.rows, nats);
    const std::string name = fmt::format("{}/{}/", task.name, run_.spec.eval.task_style);
    evaluated.scores[name + "acc"] = result.acc();
    evaluated.scores[name + "acc_norm"] = result.acc_norm();
  }
}

int64_t RunEvaluation::validation_batches() const {
  return run_.validation == nullptr ? 0 : run_.validation->batch_count();
}

void RunEvaluation::TryValidationBatch() {
  const progress::InPhase phase(progress::Phase::kEvaluation);
  run_.model->Loss(ValidationBatch(0));
}

int64_t RunEvaluation::task_batches() const {
  int64_t batches = 0;
  for (const PreparedTask& task : run_.tasks) batches += ScorerOf(task).batch_count();
  return batches;
}

// Takes the middle batch of the first task: rows are ordered by length, so its time is about the
// mean.
void RunEvaluation::TryTaskBatch() {
  const progress::InPhase phase(progress::Phase::kEvaluation);
  const ChoiceScorer scorer = ScorerOf(run_.tasks.front());
  std::vector<double> nats(static_cast<size_t>(run_.spec.batch.micro_batch));
  scorer.ScoreBatch(*run_.model, scorer.batch_count() / 2, nats);
}

TokenBatch RunEvaluation::ValidationBatch(int64_t index) {
  const runspec::BatchSpec& batch = run_.spec.batch;
  const progress::Awaiting waiting(progress::Wait::kData);
  ThrowIfUnusable(run_.validation->Fill(index, tokens_, targets_), /*begun=*/true);
  return {tokens_, targets_, batch.micro_batch, batch.sequence};
}

ChoiceScorer RunEvaluation::ScorerOf(const PreparedTask& task) const {
  return ChoiceScorer(task.rows, run_.spec.batch.micro_batch);
}

}  // namespace gp::engine
