#include "worker/trainer/training_samples.h"

#include <algorithm>

#include "base/failpoint.h"
#include "base/log.h"
#include "base/machine/progress.h"
#include "worker/sampler/token_generator.h"
#include "worker/trainer/data_failure.h"

namespace gp::engine {
namespace {

DecoderWeights WeightsOf(LanguageModel& model) {
  const std::span<const uint16_t> copy = model.working_copy();
  return {model.parameters().data(), copy.empty() ? nullptr : copy.data(), model.compute_type()};
}

// For a stream: end-of-text, because it does not keep its first tokens and a resumed run has not
// read them.
int32_t FirstTokenOf(const Dataset& dataset) {
  if (dataset.stream != nullptr) return dataset.tokenizer->end_of_text().value_or(0);
  int32_t token = 0;
  ThrowIfUnusable(dataset.train->Read(0, {&token, 1}), /*begun=*/true);
  return token;
}

}  // namespace

TrainingSamples::TrainingSamples(PreparedRun& run)
    : run_(run),
      decoder_({.shape = run.model->shape(), .slots = 1, .length = run.spec.batch.sequence},
               WeightsOf(*run.model), run.model->backend()),
      drawable_(std::min(decoder_.vocabulary(), run.dataset.tokenizer->vocabulary_size())) {
  const auto prompt = run.dataset.tokenizer->Encode(run.spec.sample.prompt);
  if (prompt.ok() && !prompt->empty()) {
    prompt_ = *prompt;
    return;
  }
  prompt_ = {FirstTokenOf(run.dataset)};
  LogWarning(run.dataset.stream == nullptr
                 ? "sample.prompt cannot be used; samples begin with the text's first token"
                 : "sample.prompt cannot be used; samples begin with the end-of-text token",
             {{"reason", prompt.ok() ? "it has no tokens" : Message(prompt.status())}});
}

std::string TrainingSamples::Write(int64_t step, const std::stop_token& stop) {
  const progress::InPhase phase(progress::Phase::kSample);
  Failpoint("trainer.sample");
  const runspec::SampleSpec& sample = run_.spec.sample;
  const Generation generation{
      .prompt = prompt_,
      .sampling = {.temperature = sample.temperature, .top_k = sample.top_k},
      .max_tokens = sample.max_tokens,
      .seed = run_.spec.seed,
      .sample = static_cast<uint64_t>(step)};
  return run_.dataset.tokenizer->Decode(
      GenerateTokens(decoder_, {&generation, 1}, drawable_, stop)[0]);
}

int64_t TrainingSamples::recomputed_tokens() const {
  const int64_t text = std::ssize(prompt_) + run_.spec.sample.max_tokens - 1;
  return std::clamp<int64_t>(text - decoder_.length_max(), 0, run_.spec.sample.max_tokens);
}

void TrainingSamples::TryToken(bool recomputed) {
  const progress::InPhase phase(progress::Phase::kSample);
  const int64_t read = recomputed ? decoder_.length_max() : 1;
  const std::vector<int32_t> tokens(static_cast<size_t>(read), prompt_[0]);
  const Generation generation{.prompt = tokens, .max_tokens = 1, .seed = run_.spec.seed};
  GenerateTokens(decoder_, {&generation, 1}, drawable_);
}

}  // namespace gp::engine
