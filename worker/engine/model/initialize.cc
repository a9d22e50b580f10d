#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>

#include "worker/engine/backend/dropout_key.h"
#include "worker/engine/model/make_language_model.h"

namespace gp::engine {
namespace {

bool EndsWith(const std::string& name, const std::string& suffix) {
  return name.size() >= suffix.size() && name.ends_with(suffix);
}

double DeviationOf(const std::string& name, int64_t layers) {
  const double scale = std::sqrt(2.0 * static_cast<double>(layers));
  return EndsWith(name, "c_proj.weight") ? 0.02 / scale : 0.02;
}

// A standard normal value: Box & Muller 1958 on two keyed uniforms, the first in (0, 1].
double KeyedNormal(uint64_t key, uint64_t index) {
  const uint64_t first = MixBits(key ^ (2 * index));
  const uint64_t second = MixBits(key ^ (2 * index + 1));
  const double u = static_cast<double>((first >> 11) + 1) * 0x1.0p-53;
  const double v = static_cast<double>(second >> 11) * 0x1.0p-53;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

}  // namespace

void InitializeNormal(uint64_t seed, LanguageModel& model) {
  const runspec::ModelShape& shape = model.shape();
  const std::span<float> parameters = model.parameters();
  uint64_t tensor_number = 0;
  for (const runspec::ParameterInfo& tensor : model.layout().tensors) {
    const uint64_t key = MixBits(MixBits(seed) ^ ++tensor_number);
    float* values = parameters.data() + tensor.offset;
    if (!tensor.decayed) {
      std::fill_n(values, tensor.count, EndsWith(tensor.name, ".weight") ? 1.0f : 0.0f);
      continue;
    }
    const bool has_padding = tensor.name == "wte.weight" || tensor.name == "lm_head.weight";
    const int64_t drawn = has_padding ? shape.vocabulary * shape.channels : tensor.count;
    const double deviation = DeviationOf(tensor.name, shape.layers);
    for (int64_t i = 0; i < drawn; ++i) {
      values[i] = static_cast<float>(deviation * KeyedNormal(key, static_cast<uint64_t>(i)));
    }
    std::fill(values + drawn, values + tensor.count, 0.0f);
  }
  model.ParametersChanged();
}

}  // namespace gp::engine
