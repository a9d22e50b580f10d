#include "tokenizer/parallel_encode.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

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

// The tokens of each part; nothing for one that cannot be encoded.
std::vector<std::optional<std::vector<int32_t>>> EncodeParts(
    const Tokenizer& tokenizer, const std::vector<std::string_view>& parts, int threads) {
  std::vector<std::optional<std::vector<int32_t>>> tokens(parts.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < parts.size(); i = next++) {
      auto encoded = tokenizer.Encode(parts[i]);
      if (encoded.ok()) tokens[i] = std::move(*encoded);
    }
  };
  std::vector<std::jthread> others;
  const int wanted = std::min(threads, static_cast<int>(std::min<size_t>(parts.size(), 256)));
  for (int i = 1; i < wanted; ++i) others.emplace_back(work);
  work();
  others.clear();
  return tokens;
}

}  // namespace

StatusOr<std::vector<int32_t>> EncodeInParallel(const Tokenizer& tokenizer, std::string_view text,
                                                int threads, size_t part_bytes) {
  if (threads <= 1 || text.size() <= part_bytes) return tokenizer.Encode(text);
  auto parts = EncodeParts(tokenizer, Parts(tokenizer, text, part_bytes), threads);
  size_t count = 0;
  for (const auto& part : parts) {
    // Encoded whole, the text gives the error with the place in it.
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
