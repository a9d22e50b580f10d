#include "plan/model_part.h"

#include <algorithm>
#include <charconv>

namespace gp::runspec {
namespace {

constexpr std::string_view kBlocks = "h";

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t first = 0; (first = text.find_first_not_of(' ', first)) != std::string_view::npos;) {
    const size_t last = std::min(text.find(' ', first), text.size());
    words.push_back(text.substr(first, last - first));
    first = last;
  }
  return words;
}

std::optional<int64_t> Number(std::string_view word) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

// `block N`, `first N blocks` and `last N blocks`.
std::optional<ModelPart> ParseBlocks(const std::vector<std::string_view>& words, int64_t layers) {
  const auto blocks = [](int64_t first, int64_t last) {
    return ModelPart{std::string(kBlocks), first, last};
  };
  if (words.size() == 2 && words[0] == "block") {
    const auto index = Number(words[1]);
    if (!index || *index < 0 || *index >= layers) return std::nullopt;
    return blocks(*index, *index + 1);
  }
  if (words.size() != 3 || (words[2] != "blocks" && words[2] != "block")) return std::nullopt;
  const auto count = Number(words[1]);
  if (!count || *count < 1 || *count > layers) return std::nullopt;
  if (words[0] == "first") return blocks(0, *count);
  if (words[0] == "last") return blocks(layers - *count, layers);
  return std::nullopt;
}

// The block of a parameter named "h.<block>.…".
int64_t BlockOf(std::string_view parameter) {
  const std::string_view rest = parameter.substr(kBlocks.size() + 1);
  return Number(rest.substr(0, rest.find('.'))).value_or(-1);
}

}  // namespace

bool Trains(const TrainedParts& parts, std::string_view parameter) {
  return parts.trained.empty() ||
         std::any_of(parts.trained.begin(), parts.trained.end(),
                     [&](const ModelPart& part) { return part.Holds(parameter); });
}

bool TrainsBlock(const TrainedParts& parts, int64_t layer) {
  return Trains(parts, std::string(kBlocks) + "." + std::to_string(layer) + ".");
}

bool ModelPart::Holds(std::string_view parameter) const {
  if (!parameter.starts_with(module + ".")) return false;
  if (module != kBlocks) return true;
  const int64_t block = BlockOf(parameter);
  return block >= first_block && block < last_block;
}

bool ModelPart::Overlaps(const ModelPart& other) const {
  if (module != other.module) return false;
  return module != kBlocks ||
         std::max(first_block, other.first_block) < std::min(last_block, other.last_block);
}

std::optional<ModelPart> ParseModelPart(std::string_view text, const ModelShape& shape) {
  const std::vector<std::string_view> words = Words(text);
  if (words.size() != 1) return ParseBlocks(words, shape.layers);
  if (words[0] == "blocks") return ModelPart{std::string(kBlocks), 0, shape.layers};
  const bool known = words[0] == "wte" || words[0] == "wpe" || words[0] == "ln_f" ||
                     (words[0] == "lm_head" && !shape.tied_head);
  if (!known) return std::nullopt;
  return ModelPart{.module = std::string(words[0])};
}

TrainedParts TrainedPartsOf(const RunSpec& spec) {
  TrainedParts parts;
  for (const std::string& text : spec.train) {
    if (const auto part = ParseModelPart(text, spec.model)) parts.trained.push_back(*part);
  }
  for (const auto& [text, rate] : spec.learning_rates) {
    if (const auto part = ParseModelPart(text, spec.model)) {
      parts.rates.push_back({*part, rate / spec.optimizer.lr});
    }
  }
  return parts;
}

ParameterLayout MakeParameterLayout(const ModelShape& shape, const TrainedParts& parts) {
  ParameterLayout layout = MakeParameterLayout(shape);
  for (ParameterInfo& tensor : layout.tensors) {
    tensor.trained = Trains(parts, tensor.name);
    for (const TrainedParts::Rate& rate : parts.rates) {
      if (rate.part.Holds(tensor.name)) tensor.lr_ratio = rate.lr_ratio;
    }
  }
  return layout;
}

ParameterRange TrainedRange(const ParameterLayout& layout) {
  const auto trained = [](const ParameterInfo& tensor) { return tensor.trained; };
  const auto first = std::find_if(layout.tensors.begin(), layout.tensors.end(), trained);
  const auto after = std::find_if(layout.tensors.rbegin(), layout.tensors.rend(), trained).base();
  if (first == layout.tensors.end()) return {};
  return {first->offset, after == layout.tensors.end() ? layout.total_count : after->offset};
}

int64_t TrainedParameterCount(const ParameterLayout& layout) {
  int64_t count = 0;
  for (const ParameterInfo& tensor : layout.tensors) count += tensor.trained ? tensor.count : 0;
  return count;
}

int64_t ForwardOnlyBlocks(const ModelShape& shape, const TrainedParts& parts) {
  if (Trains(parts, "wte.") || Trains(parts, "wpe.")) return 0;
  int64_t blocks = 0;
  while (blocks < shape.layers && !TrainsBlock(parts, blocks)) ++blocks;
  return blocks;
}

}  // namespace gp::runspec
