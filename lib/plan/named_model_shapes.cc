#include "plan/model_shape.h"

namespace gp::runspec {

std::vector<std::string> ModelNames() { return {"tiny", "124M", "350M", "774M", "1558M"}; }

std::optional<ModelShape> NamedModelShape(const std::string& name) {
  struct Size {
    const char* name;
    int64_t layers, heads, channels, context, vocabulary;
  };
  // tiny is nanoGPT's CPU model; the others are OpenAI's four releases.
  static constexpr Size kSizes[] = {{"tiny", 4, 4, 128, 64, 65},
                                    {"124M", 12, 12, 768, 1024, 50257},
                                    {"350M", 24, 16, 1024, 1024, 50257},
                                    {"774M", 36, 20, 1280, 1024, 50257},
                                    {"1558M", 48, 25, 1600, 1024, 50257}};
  for (const Size& size : kSizes) {
    if (name != size.name) continue;
    ModelShape shape{.layers = size.layers, .heads = size.heads, .channels = size.channels};
    shape.context = size.context;
    shape.vocabulary = size.vocabulary;
    shape.vocabulary_padded = (size.vocabulary + 63) / 64 * 64;
    return shape;
  }
  return std::nullopt;
}

}  // namespace gp::runspec
