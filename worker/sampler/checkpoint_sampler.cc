#include "worker/sampler/checkpoint_sampler.h"

#include <utility>

#include "worker/sampler/text_writer.h"

namespace gp::engine {
namespace {

StatusOr<link::Generate> OnTheLink(const SampleRequest& request, uint64_t number,
                                   const Tokenizer& tokenizer) {
  auto prompt = tokenizer.Encode(request.prompt);
  if (!prompt.ok()) return WithContext(prompt.status(), "prompt");
  if (prompt->empty()) return InvalidArgument("the prompt is empty; give at least one character");
  const SamplingOptions& sampling = request.sampling;
  return link::Generate{.request = number,
                        .prompt = *std::move(prompt),
                        .max_tokens = request.max_tokens,
                        .temperature = sampling.temperature,
                        .top_k = sampling.top_k,
                        .top_p = sampling.top_p,
                        .min_p = sampling.min_p,
                        .presence_penalty = sampling.presence_penalty,
                        .frequency_penalty = sampling.frequency_penalty,
                        .logit_bias = sampling.logit_bias,
                        .seed = request.seed,
                        .sample = request.sample,
                        .stop = request.stop,
                        .ignore_end_of_text = request.ignore_end_of_text};
}

}  // namespace

StatusOr<CheckpointSampler> CheckpointSampler::Open(const std::string& directory,
                                                    const SamplerOptions& options) {
  ASSIGN_OR_RETURN(SamplerModel model, SamplerModel::Open(directory, options));
  return CheckpointSampler(std::move(model));
}

StatusOr<std::vector<std::string>> CheckpointSampler::Sample(
    std::span<const SampleRequest> requests) {
  TextWriter writer(model_.decoder(), model_.tokenizer(), model_.prompt_rows());
  std::vector<std::string> texts;
  for (const SampleRequest& request : requests) {
    ASSIGN_OR_RETURN(const auto generate, OnTheLink(request, texts.size(), model_.tokenizer()));
    writer.Add(generate);
    texts.push_back(request.prompt);
  }
  while (!writer.idle()) {
    for (const link::TextPiece& piece : writer.Advance().pieces) {
      if (piece.error) return DataLoss("{}: {}", model_.directory(), *piece.error);
      texts[piece.request] += piece.text;
    }
  }
  return texts;
}

}  // namespace gp::engine
