#include "plan/model_shape.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "plan/align_up.h"

namespace gp::runspec {
namespace {

constexpr int64_t kAlignment = 16;  // elements: one cache line of fp32

int64_t Product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

using NamedShape = std::pair<std::string, std::vector<int64_t>>;

void AppendBlock(const ModelShape& s, int64_t layer, std::vector<NamedShape>& tensors) {
  const std::string prefix = "h." + std::to_string(layer) + ".";
  const int64_t c = s.channels;
  const auto add = [&](const std::string& module, std::vector<int64_t> weight, int64_t bias) {
    tensors.emplace_back(prefix + module + ".weight", std::move(weight));
    if (s.bias) tensors.emplace_back(prefix + module + ".bias", std::vector<int64_t>{bias});
  };
  add("ln_1", {c}, c);
  add("attn.c_attn", {3 * c, c}, 3 * c);
  add("attn.c_proj", {c, c}, c);
  add("ln_2", {c}, c);
  add("mlp.c_fc", {4 * c, c}, 4 * c);
  add("mlp.c_proj", {c, 4 * c}, c);
}

// Every tensor in the order of the modules.
std::vector<NamedShape> NamedShapes(const ModelShape& s) {
  std::vector<NamedShape> tensors;
  tensors.emplace_back("wte.weight", std::vector<int64_t>{s.vocabulary_padded, s.channels});
  tensors.emplace_back("wpe.weight", std::vector<int64_t>{s.context, s.channels});
  for (int64_t layer = 0; layer < s.layers; ++layer) AppendBlock(s, layer, tensors);
  tensors.emplace_back("ln_f.weight", std::vector<int64_t>{s.channels});
  if (s.bias) tensors.emplace_back("ln_f.bias", std::vector<int64_t>{s.channels});
  if (!s.tied_head) {
    tensors.emplace_back("lm_head.weight", std::vector<int64_t>{s.vocabulary_padded, s.channels});
  }
  return tensors;
}

// Appends the tensors that have weight decay (`decayed`), or those that do not, to the layout.
void AppendGroup(const std::vector<NamedShape>& tensors, bool decayed, ParameterLayout& layout) {
  for (const auto& [name, shape] : tensors) {
    if ((shape.size() >= 2) != decayed) continue;
    const int64_t count = Product(shape);
    layout.tensors.push_back({name, shape, layout.total_count, count, decayed});
    layout.total_count += AlignUp(count, kAlignment);
  }
}

}  // namespace

const ParameterInfo& ParameterLayout::at(const std::string& name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const ParameterInfo& tensor) { return tensor.name == name; });
  if (found == tensors.end()) throw std::out_of_range("the model has no parameter '" + name + "'");
  return *found;
}

std::vector<ParameterGap> ParameterLayout::Gaps() const {
  std::vector<ParameterGap> gaps;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t first = tensors[i].offset + tensors[i].count;
    const int64_t end = i + 1 < tensors.size() ? tensors[i + 1].offset : total_count;
    if (first < end) gaps.push_back({.offset = first, .count = end - first});
  }
  return gaps;
}

ParameterLayout MakeParameterLayout(const ModelShape& shape) {
  const std::vector<NamedShape> tensors = NamedShapes(shape);
  ParameterLayout layout;
  AppendGroup(tensors, true, layout);
  layout.decayed_count = layout.total_count;
  AppendGroup(tensors, false, layout);
  return layout;
}

int64_t ParameterCount(const ModelShape& shape) {
  int64_t count = 0;
  for (const auto& [name, dimensions] : NamedShapes(shape)) count += Product(dimensions);
  return count;
}

}  // namespace gp::runspec
