#include "tokenizer/tiktoken_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/excerpt.h"

namespace gp {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// The bytes of a token in base64 with its padding; nothing when it is none.
std::optional<std::string> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool pad = i >= text.size() - padding;
    const size_t value = pad ? 0 : kBase64.find(text[i]);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (i % 4 != 3) continue;
    for (const int shift : {16, 8, 0}) bytes.push_back(static_cast<char>(bits >> shift));
    bits = 0;
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

Status AddLine(std::string_view line, BytePairVocabularyBuilder& builder) {
  const size_t space = std::min(line.find(' '), line.size());
  const auto bytes = DecodeBase64(line.substr(0, space));
  const std::string_view number = line.substr(std::min(space + 1, line.size()));
  int64_t rank = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rank);
  if (!bytes || number.empty() || error != std::errc() || end != number.data() + number.size()) {
    return InvalidArgument("expected a token in base64, a space and its rank");
  }
  if (rank != builder.tokens()) {
    return InvalidArgument("the rank is {}, expected {}: ranks count from 0, line by line", rank,
                           builder.tokens());
  }
  return builder.AddToken(*bytes, rank);
}

Status AddLines(std::string_view text, BytePairVocabularyBuilder& builder) {
  for (int line_number = 1; !text.empty(); ++line_number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const Status status = AddLine(line, builder);
    if (status.ok()) continue;
    return InvalidArgument("line {} ('{}'): {}", line_number, Excerpt(line), Message(status));
  }
  return OkStatus();
}

}  // namespace

StatusOr<BytePairVocabulary> ParseTiktoken(std::string_view text) {
  BytePairVocabularyBuilder builder(std::count(text.begin(), text.end(), '\n') + 2);
  RETURN_IF_ERROR(AddLines(text, builder));
  RETURN_IF_ERROR(builder.DeriveMerges());
  RETURN_IF_ERROR(builder.AddSpecial(kEndOfText, builder.tokens()));
  return builder.Finish();
}

}  // namespace gp
