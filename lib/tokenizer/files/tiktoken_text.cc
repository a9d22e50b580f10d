#include "tokenizer/files/tiktoken_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text/excerpt.h"

namespace gp {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// The bytes of a token in padded base64; nullopt if it is invalid.
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

struct RankedToken {
  std::string bytes;  // empty: no text becomes this token
  int64_t rank = 0;
};

// Python's base64 reads a lone "=" as no bytes; OpenAI's Whisper has such a line.
std::optional<std::string> ReadToken(std::string_view text) {
  return text == "=" ? std::string() : DecodeBase64(text);
}

StatusOr<RankedToken> ReadLine(std::string_view line) {
  const size_t space = std::min(line.find(' '), line.size());
  auto bytes = ReadToken(line.substr(0, space));
  const std::string_view number = line.substr(std::min(space + 1, line.size()));
  int64_t rank = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rank);
  if (!bytes || number.empty() || error != std::errc() || end != number.data() + number.size()) {
    return InvalidArgument("expected a token in base64, a space and its rank");
  }
  return RankedToken{*std::move(bytes), rank};
}

bool IsRunOfSpaces(std::string_view bytes) {
  return !bytes.empty() && bytes.find_first_not_of(' ') == std::string_view::npos;
}

// Adds the tokens in the order of their ranks. A rank without a line, or with an empty token, is
// that of a special token. Only runs of spaces may follow it: OpenAI added them to finished
// vocabularies. Before any other token it is a sign of damage.
class RankReader {
 public:
  explicit RankReader(BytePairVocabularyBuilder& builder) : builder_(builder) {}

  Status Add(const RankedToken& token) {
    const bool spaces = IsRunOfSpaces(token.bytes);
    if (special_rank_ && !spaces) {
      return InvalidArgument(
          "the rank {} has no token, so it belongs to a special token; only runs of spaces may "
          "follow it",
          *special_rank_);
    }
    if (!special_rank_ && spaces && token.rank == builder_.tokens() + 1) {
      RETURN_IF_ERROR(AddEndOfText());
    }
    if (token.rank != builder_.tokens()) {
      return InvalidArgument(
          "the rank is {}, expected {}: ranks count from 0, line by line; only the rank of {} may "
          "be left out, where nothing but runs of spaces follows",
          token.rank, builder_.tokens(), kEndOfText);
    }
    if (!token.bytes.empty()) return builder_.AddToken(token.bytes, token.rank);
    special_rank_ = token.rank;
    return builder_.AddUnlisted("", token.rank);
  }

  Status Finish() { return has_end_of_text_ ? OkStatus() : AddEndOfText(); }

 private:
  Status AddEndOfText() {
    special_rank_ = builder_.tokens();
    has_end_of_text_ = true;
    return builder_.AddSpecial(kEndOfText, builder_.tokens());
  }

  BytePairVocabularyBuilder& builder_;
  std::optional<int64_t> special_rank_;  // a rank that has no token in the file
  bool has_end_of_text_ = false;
};

Status AddLine(std::string_view line, RankReader& reader) {
  ASSIGN_OR_RETURN(const RankedToken token, ReadLine(line));
  return reader.Add(token);
}

Status AddLines(std::string_view text, RankReader& reader) {
  for (int line_number = 1; !text.empty(); ++line_number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const Status status = AddLine(line, reader);
    if (status.ok()) continue;
    return InvalidArgument("line {} ('{}'): {}", line_number, Excerpt(line), Message(status));
  }
  return OkStatus();
}

}  // namespace

StatusOr<BytePairVocabulary> ParseTiktoken(std::string_view text) {
  BytePairVocabularyBuilder builder(std::count(text.begin(), text.end(), '\n') + 2);
  RankReader reader(builder);
  RETURN_IF_ERROR(AddLines(text, reader));
  RETURN_IF_ERROR(reader.Finish());
  RETURN_IF_ERROR(builder.DeriveMerges());
  return builder.Finish();
}

}  // namespace gp
