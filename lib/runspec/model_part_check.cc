#include "runspec/model_part_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/excerpt.h"
#include "base/text/nearest_word.h"
#include "plan/model_part.h"

namespace gp::runspec {
namespace {

using Problems = std::vector<CrossProblem>;

// Part names of which `text` may be a misspelling: each form, with the number that `text` contains.
std::vector<std::string> Candidates(const std::string& text, const ModelShape& shape) {
  std::vector<std::string> candidates = {"wte", "wpe", "blocks", "ln_f"};
  if (!shape.tied_head) candidates.emplace_back("lm_head");
  const size_t digit = text.find_first_of("0123456789");
  const std::string digits =
      digit == std::string::npos
          ? "1"
          : text.substr(digit, text.find_first_not_of("0123456789", digit) - digit);
  for (const char* form : {"block {}", "first {} blocks", "last {} blocks"}) {
    const std::string candidate = fmt::format(fmt::runtime(form), digits);
    if (ParseModelPart(candidate, shape)) candidates.push_back(candidate);
  }
  return candidates;
}

std::string Possible(const ModelShape& shape) {
  return fmt::format(
      "parts of this model: wte, wpe, blocks, block 0{}, first N blocks, last N "
      "blocks, ln_f{}",
      shape.layers > 1 ? fmt::format(" to block {}", shape.layers - 1) : "",
      shape.tied_head ? "" : ", lm_head");
}

std::string HintFor(const std::string& text, const ModelShape& shape) {
  if (text == "lm_head") return "the head shares the weights of wte: name wte";
  const auto nearest = NearestWord(text, Candidates(text, shape));
  return (nearest ? fmt::format("did you mean '{}'? ", *nearest) : "") + Possible(shape);
}

CrossProblem NoSuchPart(const char* key, const std::string& place, const std::string& text,
                        const ModelShape& shape) {
  return {{place, key},
          fmt::format("{} names '{}', which is not part of this model", key, Excerpt(text)),
          HintFor(text, shape)};
}

std::string RateKey(const std::string& text) { return "learning_rates." + text; }

bool IsTrained(const ModelPart& part, const ParameterLayout& layout) {
  return std::all_of(
      layout.tensors.begin(), layout.tensors.end(),
      [&](const ParameterInfo& tensor) { return tensor.trained || !part.Holds(tensor.name); });
}

// A block's matrices use Muon's rate and its vectors AdamW's, so one rate for a block is ambiguous.
void CheckMuon(const RunSpec& spec, const std::string& text, const ModelPart& part,
               Problems& problems) {
  if (spec.optimizer.kind != OptimizerKind::kMuon || part.module != "h") return;
  problems.push_back({{RateKey(text), "learning_rates", "optimizer.kind"},
                      fmt::format("learning_rates for '{}' is not possible with optimizer.kind: "
                                  "muon, which has two rates for a block",
                                  text),
                      "use optimizer.kind: adamw, or give rates to wte, wpe, ln_f and lm_head only",
                      "optimizer.kind"});
}

void CheckRates(const RunSpec& spec, Problems& problems) {
  const ParameterLayout layout = MakeParameterLayout(spec.model, TrainedPartsOf(spec));
  std::vector<std::pair<std::string, ModelPart>> seen;
  for (const auto& [text, rate] : spec.learning_rates) {
    const auto part = ParseModelPart(text, spec.model);
    if (!part) {
      problems.push_back(NoSuchPart("learning_rates", RateKey(text), text, spec.model));
      continue;
    }
    CheckMuon(spec, text, *part, problems);
    if (!IsTrained(*part, layout)) {
      problems.push_back({{RateKey(text), "learning_rates"},
                          fmt::format("learning_rates has '{}', which train leaves frozen", text),
                          "add it to train, or take its rate out",
                          "train"});
    }
    for (const auto& [other, other_part] : seen) {
      if (!part->Overlaps(other_part)) continue;
      problems.push_back({{RateKey(text), "learning_rates"},
                          fmt::format("learning_rates has two rates for the same weights: '{}' and "
                                      "'{}' overlap",
                                      other, text),
                          "name each part once"});
    }
    seen.emplace_back(text, *part);
  }
}

}  // namespace

void CheckModelParts(const RunSpec& spec, Problems& problems) {
  for (size_t i = 0; i < spec.train.size(); ++i) {
    if (ParseModelPart(spec.train[i], spec.model)) continue;
    problems.push_back(NoSuchPart("train", fmt::format("train[{}]", i), spec.train[i], spec.model));
  }
  if (!spec.learning_rates.empty()) CheckRates(spec, problems);
}

}  // namespace gp::runspec
