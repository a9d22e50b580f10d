// EvaluatedCheckpoint: the model of a checkpoint with its tokenizer, and its measurements: loss on
// text or tokens, and answers to multiple-choice questions. One thread calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/checkpoint_manifest.h"
#include "plan/run_spec.h"
#include "tasks/choice_result.h"
#include "tokenizer/tokenizer.h"
#include "worker/evaluator/evaluator.h"
#include "worker/evaluator/held_out_tokens.h"

namespace gp::engine {

struct EvaluationOptions {
  int threads = 1;
  runspec::Precision precision = runspec::Precision::kAuto;  // kAuto: as the run computed
  // Called with the numbers of finished and of all batches.
  std::function<void(int64_t done, int64_t all)> progress = [](int64_t, int64_t) {};
};

class EvaluatedCheckpoint {
 public:
  // A checkpoint's directory, or that of a run: its newest one. NotFound without a checkpoint;
  // DataLoss names the damaged file; FailedPrecondition for an unknown precision.
  static StatusOr<EvaluatedCheckpoint> Open(const std::string& directory,
                                            EvaluationOptions options);

  const std::string& directory() const { return directory_; }
  const formats::CheckpointManifest& manifest() const { return manifest_; }
  runspec::Precision precision() const { return precision_; }

  // The loss on files: token shards (*.bin, *.npy) or text, in windows of HeldOutTokens::sequence.
  // Without a file: on the run's own validation split, all of it, as the run's directory names it
  // (resolved.yaml). Errors name the file and the fix.
  StatusOr<Evaluation> Validate(const HeldOutFiles& files);

  // ResourceExhausted when the model cannot be made, for lack of memory or another reason;
  // otherwise the errors of tasks::EncodeChoices.
  StatusOr<tasks::ChoiceResult> Choose(const tasks::ChoiceFile& file, tasks::ChoiceStyle style);

 private:
  EvaluatedCheckpoint() = default;
  StatusOr<std::unique_ptr<LanguageModel>> MakeModel(int64_t sequences, int64_t length) const;
  BatchesDone ProgressOf(int64_t batches) const;

  EvaluationOptions options_;
  std::string directory_;
  formats::CheckpointManifest manifest_;
  std::unique_ptr<Tokenizer> tokenizer_;
  runspec::Precision precision_ = runspec::Precision::kFp32;
};

}  // namespace gp::engine
