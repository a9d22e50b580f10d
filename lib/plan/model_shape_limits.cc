#include "plan/model_shape_limits.h"

namespace gp::runspec {
namespace {

struct SizeRange {
  const char* name;
  int64_t value;
  int64_t min;
  int64_t max;
};

std::string Text(const SizeRange& size) {
  return std::string(size.name) + " is " + std::to_string(size.value) + ", expected " +
         std::to_string(size.min) + " to " + std::to_string(size.max);
}

}  // namespace

std::string ProblemWithSizes(const ModelShape& shape) {
  constexpr int64_t kPaddedMax = 1 << 25;
  for (const SizeRange& size :
       {SizeRange{"n_layer", shape.layers, 1, 1024}, SizeRange{"n_head", shape.heads, 1, 1024},
        SizeRange{"n_embd", shape.channels, 1, 65536},
        SizeRange{"n_ctx", shape.context, 1, 1 << 20},
        SizeRange{"vocab", shape.vocabulary, 1, 1 << 24},
        SizeRange{"vocab_padded", shape.vocabulary_padded, shape.vocabulary, kPaddedMax}}) {
    if (size.value < size.min || size.value > size.max) return Text(size);
  }
  if (shape.channels % shape.heads == 0) return "";
  return "n_embd " + std::to_string(shape.channels) + " is not a multiple of n_head " +
         std::to_string(shape.heads);
}

}  // namespace gp::runspec
