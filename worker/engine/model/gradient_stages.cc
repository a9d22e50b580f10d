#include "worker/engine/model/gradient_stages.h"

#include <stdexcept>
#include <string>

namespace gp::engine {
namespace {

std::vector<GradientRange>& BlockStageOf(const std::string& name, GradientStages& stages) {
  // "h.<layer>.<module>..."
  const size_t dot = name.find('.', 2);
  GradientStages::Block& block = stages.blocks.at(std::stoul(name.substr(2, dot - 2)));
  const std::string module = name.substr(dot + 1);
  return module.starts_with("mlp.") || module.starts_with("ln_2.") ? block.mlp : block.attention;
}

std::vector<GradientRange>& StageOf(const std::string& name, GradientStages& stages) {
  if (name.starts_with("h.")) return BlockStageOf(name, stages);
  if (name.starts_with("ln_f.") || name.starts_with("lm_head.")) return stages.head;
  if (name.starts_with("wte.") || name.starts_with("wpe.")) return stages.embedding;
  throw std::logic_error("no stage of the backward pass owns '" + name + "'");
}

void Append(GradientRange range, std::vector<GradientRange>& ranges) {
  if (!ranges.empty() && ranges.back().last == range.first) {
    ranges.back().last = range.last;
  } else {
    ranges.push_back(range);
  }
}

}  // namespace

GradientStages MakeGradientStages(const runspec::ParameterLayout& layout, int64_t layers) {
  GradientStages stages;
  stages.blocks.resize(static_cast<size_t>(layers));
  for (size_t i = 0; i < layout.tensors.size(); ++i) {
    if (!layout.tensors[i].trained) continue;
    const bool is_last = i + 1 == layout.tensors.size();
    const int64_t end = is_last ? layout.total_count : layout.tensors[i + 1].offset;
    Append({layout.tensors[i].offset, end}, StageOf(layout.tensors[i].name, stages));
  }
  return stages;
}

}  // namespace gp::engine
