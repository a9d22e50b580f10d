#include "tokenizer/text_pattern.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/excerpt.h"
#include "base/text/utf8.h"
#include "tokenizer/gpt2_splitter.h"

namespace gp {
namespace {

// Fewer than one token in this many may be cut. Whisper's vocabulary has 5 in 50,000 (contractions
// in capitals), those of other patterns have 5,000 and more.
constexpr size_t kTokensForEachCut = 1000;
constexpr size_t kShownMax = 4;

// The token, with line breaks as \n, and its id.
std::string Shown(std::string_view token, size_t id) {
  return fmt::format("{} ({})", Excerpt(nlohmann::json(token).dump()), id);
}

}  // namespace

Status CheckGpt2Pattern(const BytePairVocabulary& vocabulary) {
  size_t learned = 0, cut = 0;
  std::vector<std::string> shown;
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& token = vocabulary.tokens[id];
    if (token.size() < 2 || vocabulary.IsSpecial(static_cast<int32_t>(id))) continue;
    ++learned;
    if (!IsUtf8(token) || IsPiece(token)) continue;
    ++cut;
    if (shown.size() < kShownMax) shown.push_back(Shown(token, id));
  }
  if (cut * kTokensForEachCut < learned || cut == 0) return OkStatus();
  return InvalidArgument(
      "GPT-2's pattern splits {} of the {} learned tokens in two, as {}: this vocabulary was "
      "trained with another pattern, which the file does not name; use the same tokenizer's "
      "tokenizer.json, which names its pattern",
      cut, learned, fmt::join(shown, ", "));
}

}  // namespace gp
