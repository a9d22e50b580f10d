// BigramDecoder: a predictable Decoder: the logits after token t are row t of a table.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "worker/engine/model/decoder.h"

namespace gp::engine {

class BigramDecoder final : public Decoder {
 public:
  BigramDecoder(int64_t vocabulary, int64_t slots, int64_t length)
      : vocabulary_(vocabulary),
        length_max_(length),
        lengths_(static_cast<size_t>(slots)),
        table_(static_cast<size_t>(vocabulary * vocabulary)) {}

  void SetLogit(int64_t after, int64_t token, float logit) {
    table_[static_cast<size_t>(after * vocabulary_ + token)] = logit;
  }

  int64_t slots() const override { return std::ssize(lengths_); }
  int64_t length_max() const override { return length_max_; }
  int64_t vocabulary() const override { return vocabulary_; }
  int64_t length(int64_t slot) const override { return lengths_.at(static_cast<size_t>(slot)); }
  void Clear(int64_t slot) override { lengths_.at(static_cast<size_t>(slot)) = 0; }

  void Append(std::span<const SlotTokens> added, std::span<float> logits) override {
    auto to = logits.begin();
    for (const SlotTokens& entry : added) {
      int64_t& length = lengths_.at(static_cast<size_t>(entry.slot));
      length += std::ssize(entry.tokens);
      if (length > length_max_) throw std::invalid_argument("the slot is full");
      rows_read += std::ssize(entry.tokens);
      for (const int32_t token : entry.tokens.last(static_cast<size_t>(entry.logit_rows()))) {
        to = std::copy_n(table_.begin() + token * vocabulary_, vocabulary_, to);
      }
    }
  }

  int64_t rows_read = 0;

 private:
  const int64_t vocabulary_;
  const int64_t length_max_;
  std::vector<int64_t> lengths_;
  std::vector<float> table_;
};

}  // namespace gp::engine
