#include "worker/sampler/token_generator.h"

#include "base/machine/progress.h"
#include "worker/sampler/text_batch.h"

namespace gp::engine {

std::vector<std::vector<int32_t>> GenerateTokens(Decoder& decoder,
                                                 std::span<const Generation> generations,
                                                 int64_t drawable, const std::stop_token& stop) {
  TextBatch batch(decoder, {.drawable = drawable, .prompt_rows = decoder.length_max()});
  std::vector<std::vector<int32_t>> written(generations.size());
  for (size_t i = 0; i < generations.size(); ++i) {
    const Generation& generation = generations[i];
    batch.Add(i, {.prompt = {generation.prompt.begin(), generation.prompt.end()},
                  .sampling = generation.sampling,
                  .max_tokens = generation.max_tokens,
                  .seed = generation.seed,
                  .sample = generation.sample});
  }
  while (!stop.stop_requested() && !batch.idle()) {
    progress::Tick();
    for (const TextProgress& progress : batch.Advance()) {
      if (progress.token) written[progress.id].push_back(*progress.token);
    }
  }
  return written;
}

}  // namespace gp::engine
