#include "plan/flops.h"

namespace gp::runspec {

double TrainingFlopsPerToken(const ModelShape& shape, int64_t sequence, const TrainedParts& parts) {
  const auto c = static_cast<double>(shape.channels);
  // FLOPs of one pass over a block's weights, over the head's, and of one product of attention.
  const double block = 2 * 12 * c * c;
  const double head = 2 * static_cast<double>(shape.vocabulary_padded) * c;
  const double attention = c * static_cast<double>(sequence + 1);
  const bool head_trained = Trains(parts, shape.tied_head ? "wte." : "lm_head.");
  double flops = head * (head_trained ? 3 : 2);
  const int64_t lowest = ForwardOnlyBlocks(shape, parts);
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    const bool back = layer >= lowest;
    flops += block * (1 + (back ? 1 : 0) + (TrainsBlock(parts, layer) ? 1 : 0));
    flops += attention * (back ? 7 : 2);
  }
  return flops;
}

double ModelFlopsUtilization(double tokens_per_second, double flops_per_token, double peak_flops) {
  return tokens_per_second * flops_per_token / peak_flops;
}

}  // namespace gp::runspec
