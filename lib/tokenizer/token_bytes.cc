#include "tokenizer/token_bytes.h"

namespace gp {

TokenBytes::TokenBytes(const Tokenizer& tokenizer) {
  bytes_.resize(static_cast<size_t>(tokenizer.vocabulary_size()));
  for (size_t i = 0; i < bytes_.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    bytes_[i] = static_cast<int64_t>(tokenizer.Decode({&id, 1}).size());
  }
  for (const int32_t id : tokenizer.special_ids()) bytes_[static_cast<size_t>(id)] = 0;
}

std::optional<int64_t> TokenBytes::Sum(std::span<const int32_t> tokens) const {
  int64_t sum = 0;
  for (const int32_t token : tokens) {
    if (token < 0) continue;
    if (static_cast<size_t>(token) >= bytes_.size()) return std::nullopt;
    sum += bytes_[static_cast<size_t>(token)];
  }
  return sum;
}

}  // namespace gp
