#include "tokenizer/parallel_encode.h"

#include <optional>
#include <utility>

#include "tokenizer/part_workers.h"

namespace gp {
namespace {

std::vector<std::string_view> Parts(const Tokenizer& tokenizer, std::string_view text,
                                    size_t part_bytes) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t cut =
        part_bytes < text.size() ? tokenizer.CutAfter(text, part_bytes) : text.size();
    parts.push_back(text.substr(0, cut));
    text.remove_prefix(cut);
  }
  return parts;
}

// The tokens of each part; nullopt for one that cannot be encoded.
using PartTokens = std::vector<std::optional<std::vector<int32_t>>>;

PartTokens EncodeParts(const Tokenizer& tokenizer, const std::vector<std::string_view>& parts,
                       int threads) {
  PartTokens tokens(parts.size());
  WorkOnParts(parts.size(), threads, [&](size_t part, size_t) {
    auto encoded = tokenizer.Encode(parts[part]);
    if (encoded.ok()) tokens[part] = std::move(*encoded);
  });
  return tokens;
}

}  // namespace

StatusOr<std::vector<int32_t>> EncodeInParallel(const Tokenizer& tokenizer, std::string_view text,
                                                int threads, size_t part_bytes) {
  if (threads <= 1 || text.size() <= part_bytes) return tokenizer.Encode(text);
  auto parts = EncodeParts(tokenizer, Parts(tokenizer, text, part_bytes), threads);
  size_t count = 0;
  for (const auto& part : parts) {
    // Encodes the whole text again, because that error names the place in the whole text.
    if (!part) return tokenizer.Encode(text);
    count += part->size();
  }
  std::vector<int32_t> tokens;
  tokens.reserve(count);
  for (auto& part : parts) {
    tokens.insert(tokens.end(), part->begin(), part->end());
    part.reset();
  }
  return tokens;
}

}  // namespace gp
