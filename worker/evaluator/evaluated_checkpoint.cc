#include "worker/evaluator/evaluated_checkpoint.h"

#include <algorithm>
#include <exception>
#include <optional>

#include "base/file.h"
#include "formats/checkpoint_directory.h"
#include "formats/recorded_precision.h"
#include "storage/local_storage.h"
#include "worker/checkpoint/checkpoint_reader.h"
#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/model/make_language_model.h"
#include "worker/evaluator/choice_scorer.h"
#include "worker/evaluator/held_out_tokens.h"

namespace gp::engine {
namespace {

// Tokens of a batch: enough to keep the cores busy; more takes memory without being faster.
constexpr int64_t kBatchTokens = 4096;
constexpr int64_t kSequencesMax = 64;
constexpr int64_t kHeadRows = 1024;

int64_t SequencesOf(int64_t length) {
  return std::clamp<int64_t>(kBatchTokens / length, 1, kSequencesMax);
}

Status Load(const std::string& directory, const formats::CheckpointManifest& manifest,
            LanguageModel& model) {
  LocalStorage storage;
  RETURN_IF_ERROR(ReadWeights(
      storage, directory, manifest, model.parameters(),
      [&](void* to, const void* from, int64_t bytes) { model.backend().Upload(to, from, bytes); }));
  model.ParametersChanged();
  return OkStatus();
}

}  // namespace

StatusOr<EvaluatedCheckpoint> EvaluatedCheckpoint::Open(const std::string& directory,
                                                        EvaluationOptions options) {
  LocalStorage storage;
  EvaluatedCheckpoint opened;
  opened.options_ = std::move(options);
  ASSIGN_OR_RETURN(opened.directory_, formats::FindCheckpointIn(LocalStorage(), directory));
  ASSIGN_OR_RETURN(opened.manifest_, formats::ReadManifest(LocalStorage(), opened.directory_));
  ASSIGN_OR_RETURN(const std::string tokenizer,
                   ReadTokenizer(storage, opened.directory_, opened.manifest_));
  ASSIGN_OR_RETURN(opened.tokenizer_, ParseTokenizer(tokenizer));
  if (opened.tokenizer_->vocabulary_size() > opened.manifest_.shape.vocabulary) {
    return DataLoss("{}: the tokenizer has {} ids, but the model has {}", opened.directory_,
                    opened.tokenizer_->vocabulary_size(), opened.manifest_.shape.vocabulary);
  }
  ASSIGN_OR_RETURN(opened.precision_,
                   formats::InferencePrecision(opened.options_.precision, opened.manifest_));
  return opened;
}

StatusOr<std::unique_ptr<LanguageModel>> EvaluatedCheckpoint::MakeModel(int64_t sequences,
                                                                        int64_t length) const {
  try {
    auto model = MakeLanguageModel({.shape = manifest_.shape,
                                    .precision = precision_,
                                    .micro_batch = sequences,
                                    .sequence = length,
                                    .threads = options_.threads,
                                    .recompute = runspec::Recompute::kBlock,
                                    .chunked_head = kHeadRows});
    RETURN_IF_ERROR(Load(directory_, manifest_, *model));
    return model;
  } catch (const std::exception& error) {
    return ResourceExhausted("cannot make the model of {}: {}", directory_, error.what());
  }
}

BatchesDone EvaluatedCheckpoint::ProgressOf(int64_t batches) const {
  return [this, batches](int64_t done) { options_.progress(done, batches); };
}

StatusOr<Evaluation> EvaluatedCheckpoint::Validate(const HeldOutFiles& files) {
  ASSIGN_OR_RETURN(
      const HeldOutTokens held_out,
      HeldOutTokens::Open(files, directory_, *tokenizer_, manifest_.shape, options_.threads));
  const int64_t length = held_out.sequence(), sequences = SequencesOf(length);
  ASSIGN_OR_RETURN(const auto windows,
                   ValidationWindows::Make(held_out.tokens(), sequences, length, 0));
  ASSIGN_OR_RETURN(const auto model, MakeModel(sequences, length));
  std::vector<int32_t> tokens(static_cast<size_t>(sequences * length)), targets(tokens.size());
  Status read;
  const auto evaluation = Evaluate(
      *model, *MakeLocalGroup(1, 1)[0], windows.batch_count(),
      [&](int64_t index) {
        const Status filled = windows.Fill(index, tokens, targets);
        if (!filled.ok()) {
          if (read.ok()) read = filled;
          std::fill(tokens.begin(), tokens.end(), 0);
          std::fill(targets.begin(), targets.end(), -1);
        }
        return TokenBatch{tokens, targets, sequences, length};
      },
      TokenBytes(*tokenizer_), ProgressOf(windows.batch_count()));
  RETURN_IF_ERROR(read);
  if (!evaluation) return InvalidArgument("the data has no tokens to evaluate on");
  return *evaluation;
}

StatusOr<tasks::ChoiceResult> EvaluatedCheckpoint::Choose(const tasks::ChoiceFile& file,
                                                          tasks::ChoiceStyle style) {
  ASSIGN_OR_RETURN(const auto rows,
                   tasks::EncodeChoices(file, style, *tokenizer_, manifest_.shape.context));
  int64_t length = 1;
  for (const tasks::ChoiceRow& row : rows) length = std::max(length, row.input_length());
  const int64_t sequences = SequencesOf(length);
  ASSIGN_OR_RETURN(const auto model, MakeModel(sequences, length));
  const ChoiceScorer scorer(rows, sequences);
  const std::vector<double> nats =
      scorer.Score(*model, *MakeLocalGroup(1, 1)[0], {}, ProgressOf(scorer.batch_count()));
  return tasks::JudgeChoices(file, rows, nats);
}

}  // namespace gp::engine
