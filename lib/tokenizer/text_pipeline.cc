#include "tokenizer/text_pipeline.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/text/excerpt.h"
#include "formats/strict_json.h"

namespace gp {
namespace {

using formats::ValueOrNull;
using Json = nlohmann::json;

// GPT-2's rule as written in OpenAI's code for GPT-2, and in old and new versions of tiktoken. All
// give the same pieces for every text.
constexpr std::string_view kGpt2Patterns[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)",
};

constexpr char kCutsAsGpt2[] =
    "gp splits text only as GPT-2 does (ByteLevel with use_regex true, or GPT-2's regular "
    "expression as a Split before it); train such a tokenizer with 'gpctl data train-tokenizer'";

Status RefuseStep(std::string_view key, const Json& value, std::string_view why) {
  return InvalidArgument("{} is {}: {}", key,
                         Excerpt(value.dump(-1, ' ', false, Json::error_handler_t::replace)), why);
}

bool IsOfType(const Json& step, std::string_view type) {
  return step.is_object() && ValueOrNull(step, "type") == type;
}

// The parts of a pipeline: {"type": "Sequence", KEY: [...]} has several.
std::vector<Json> PartsOf(const Json& step, const char* list_key) {
  if (step.is_null()) return {};
  if (!IsOfType(step, "Sequence")) return {step};
  const Json& list = ValueOrNull(step, list_key);
  return list.is_array() ? std::vector<Json>(list.begin(), list.end()) : std::vector<Json>{step};
}

// Whether this is a Split by GPT-2's pattern. Every character is part of a match, so both behaviors
// give the same pieces.
bool IsSplitAsGpt2(const Json& step) {
  if (!IsOfType(step, "Split")) return false;
  const Json& pattern = ValueOrNull(step, "pattern");
  if (!pattern.is_object() || pattern.size() != 1) return false;
  const Json& regex = ValueOrNull(pattern, "Regex");
  if (std::find(std::begin(kGpt2Patterns), std::end(kGpt2Patterns), regex) ==
      std::end(kGpt2Patterns)) {
    return false;
  }
  const Json& behavior = ValueOrNull(step, "behavior");
  return behavior == "Isolated" || (behavior == "Removed" && ValueOrNull(step, "invert") == true);
}

Status CheckByteLevel(const Json& step, bool is_cut) {
  const Json& prefix = ValueOrNull(step, "add_prefix_space");
  if (prefix != false) {
    return RefuseStep(
        "pre_tokenizer.add_prefix_space", prefix,
        "gp puts no space before a text; set it to false, and begin texts with a space "
        "where the model expects one");
  }
  const Json& use_regex = ValueOrNull(step, "use_regex");
  if (is_cut || use_regex.is_null() || use_regex == true) return OkStatus();
  return RefuseStep("pre_tokenizer.use_regex", use_regex, kCutsAsGpt2);
}

Status CheckPreTokenizer(const Json& pre_tokenizer) {
  const std::vector<Json> parts = PartsOf(pre_tokenizer, "pretokenizers");
  const bool is_cut = parts.size() == 2 && IsSplitAsGpt2(parts[0]);
  if (parts.size() != (is_cut ? 2 : 1) || !IsOfType(parts.back(), "ByteLevel")) {
    return RefuseStep("pre_tokenizer", pre_tokenizer, kCutsAsGpt2);
  }
  return CheckByteLevel(parts.back(), is_cut);
}

// Whether a template consists of exactly these texts: [{"Sequence": {"id": "A", …}}].
bool HoldsOnly(const Json& pieces, const std::vector<std::string_view>& texts) {
  return pieces.is_array() && std::equal(pieces.begin(), pieces.end(), texts.begin(), texts.end(),
                                         [](const Json& piece, std::string_view text) {
                                           if (!piece.is_object()) return false;
                                           const Json& sequence = ValueOrNull(piece, "Sequence");
                                           return sequence.is_object() &&
                                                  ValueOrNull(sequence, "id") == text;
                                         });
}

bool IsTextAlone(const Json& single) { return HoldsOnly(single, {"A"}); }

bool IsEmptyTemplate(const Json& processor) {
  if (!IsOfType(processor, "TemplateProcessing")) return false;
  const Json& pair = ValueOrNull(processor, "pair");
  return IsTextAlone(ValueOrNull(processor, "single")) &&
         (pair.is_null() || HoldsOnly(pair, {"A", "B"}));
}

bool LeavesIds(const Json& processor) {
  return IsOfType(processor, "ByteLevel") || IsEmptyTemplate(processor);
}

Status CheckPostProcessor(const Json& post_processor) {
  constexpr char kWay[] =
      "gp adds no tokens to a text, and puts the end of text between documents itself; set "
      "post_processor to null";
  for (const Json& part : PartsOf(post_processor, "processors")) {
    if (LeavesIds(part)) continue;
    if (!IsOfType(part, "TemplateProcessing")) return RefuseStep("post_processor", part, kWay);
    const char* key = IsTextAlone(ValueOrNull(part, "single")) ? "pair" : "single";
    return RefuseStep(fmt::format("post_processor.{}", key), ValueOrNull(part, key), kWay);
  }
  return OkStatus();
}

// Whether ids become bytes as in gp. Another decoder would show the same ids as another text.
bool DecodesBytes(const Json& decoder) {
  const std::vector<Json> parts = PartsOf(decoder, "decoders");
  return parts.empty() || (parts.size() == 1 && IsOfType(parts[0], "ByteLevel"));
}

}  // namespace

bool AddsNoTokens(const Json& post_processor) { return CheckPostProcessor(post_processor).ok(); }

Status CheckTextPipeline(const Json& document) {
  const Json& normalizer = ValueOrNull(document, "normalizer");
  if (!PartsOf(normalizer, "normalizers").empty()) {
    return RefuseStep("normalizer", normalizer,
                      "gp encodes text as it is; set it to null, and normalize texts beforehand");
  }
  RETURN_IF_ERROR(CheckPreTokenizer(ValueOrNull(document, "pre_tokenizer")));
  RETURN_IF_ERROR(CheckPostProcessor(ValueOrNull(document, "post_processor")));
  const Json& decoder = ValueOrNull(document, "decoder");
  if (DecodesBytes(decoder)) return OkStatus();
  return RefuseStep("decoder", decoder,
                    "gp decodes as ByteLevel does; set it to {\"type\": \"ByteLevel\"}");
}

}  // namespace gp
