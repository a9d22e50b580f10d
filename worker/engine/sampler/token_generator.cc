#include "worker/engine/sampler/token_generator.h"

#include <algorithm>

namespace gp::engine {

std::vector<int32_t> GenerateTokens(LanguageModel& model, std::span<const int32_t> prompt,
                                    const Generation& options, const std::stop_token& stop) {
  std::vector<int32_t> text(prompt.begin(), prompt.end());
  std::vector<float> logits(static_cast<size_t>(model.shape().vocabulary));
  const auto window = static_cast<size_t>(options.window);
  for (int64_t i = 0; i < options.max_tokens && !stop.stop_requested(); ++i) {
    const size_t length = std::min(text.size(), window);
    const std::span<const int32_t> seen = std::span<const int32_t>(text).last(length);
    model.NextTokenLogits({seen, {}, 1, static_cast<int64_t>(length)}, logits);
    const double uniform = KeyedUniform(options.seed, options.sample, static_cast<uint64_t>(i));
    text.push_back(SampleToken(logits, options.sampling, uniform));
  }
  return {text.begin() + static_cast<std::ptrdiff_t>(prompt.size()), text.end()};
}

}  // namespace gp::engine
