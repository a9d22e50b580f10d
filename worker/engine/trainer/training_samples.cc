#include "worker/engine/trainer/training_samples.h"

#include "base/log.h"
#include "worker/engine/sampler/token_generator.h"
#include "worker/engine/trainer/training_error.h"

namespace gp::engine {

TrainingSamples::TrainingSamples(PreparedRun& run) : run_(run) {
  const auto prompt = run.dataset.tokenizer->Encode(run.spec.sample.prompt);
  if (prompt.ok() && !prompt->empty()) {
    prompt_ = *prompt;
    return;
  }
  prompt_.resize(1);
  ThrowIfError(link::ExitCause::kConfig, run.dataset.train->Read(0, prompt_));
  LogWarning("sample.prompt cannot be used, samples begin with the text's first token",
             {{"reason", prompt.ok() ? "it has no tokens" : Message(prompt.status())}});
}

std::string TrainingSamples::Write(int64_t step, const std::stop_token& stop) {
  const runspec::SampleSpec& sample = run_.spec.sample;
  const Generation options{.sampling = {.temperature = sample.temperature, .top_k = sample.top_k},
                           .max_tokens = sample.max_tokens,
                           .window = run_.spec.batch.sequence,
                           .seed = run_.spec.seed,
                           .sample = static_cast<uint64_t>(step)};
  return run_.dataset.tokenizer->Decode(GenerateTokens(*run_.model, prompt_, options, stop));
}

void TrainingSamples::TryToken() {
  const std::vector<int32_t> window(static_cast<size_t>(run_.spec.batch.sequence), prompt_[0]);
  GenerateTokens(*run_.model, window,
                 {.max_tokens = 1, .window = run_.spec.batch.sequence, .seed = run_.spec.seed});
}

}  // namespace gp::engine
