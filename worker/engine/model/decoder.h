// Decoder: a model with a cache of the tokens it has read, for writing text token by token. Each
// slot holds one sequence. Slots are independent: on a CPU a slot's logits do not depend on the
// other slots; on a device the number of rows in a call may change their last bits. Standard
// library only; errors are exceptions. One thread calls.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gp::engine {

// The tokens of an entry for which the logits of the following token are computed.
enum class WantedLogits { kNone, kLast, kAll };

// The tokens that are likeliest to follow, for who needs no others. Only ids below `below` count.
struct LikelyTokens {
  int64_t below = 0;
  std::vector<int32_t> ids;   // descending by logit; of equal ones the lower id comes first
  std::vector<float> logits;  // of these ids
};

// New tokens for slot `slot`; they follow the tokens that it holds.
struct SlotTokens {
  int64_t slot = 0;
  std::span<const int32_t> tokens;
  WantedLogits wanted = WantedLogits::kLast;
  // With kLast: the likeliest tokens are written here, and no logits. All entries of a call with
  // this have the same `below`. REQUIRES: Decoder::likely_count() <= below.
  LikelyTokens* likely = nullptr;

  // Rows of logits that Append writes for this entry; they belong to its last `logit_rows()`
  // tokens.
  int64_t logit_rows() const {
    if (likely != nullptr) return 0;
    if (wanted == WantedLogits::kAll) return std::ssize(tokens);
    return wanted == WantedLogits::kLast ? 1 : 0;
  }
};

class Decoder {
 public:
  virtual ~Decoder() = default;

  virtual int64_t slots() const = 0;
  virtual int64_t length_max() const = 0;  // tokens that a slot can hold
  virtual int64_t vocabulary() const = 0;
  virtual int64_t length(int64_t slot) const = 0;

  // How many tokens a LikelyTokens receives. 0: this decoder writes only logits.
  virtual int64_t likely_count() const { return 0; }

  // Empties a slot for another sequence.
  virtual void Clear(int64_t slot) = 0;

  // Reads the new tokens and computes the logits of the token after each wanted one: fp32 rows of
  // `vocabulary`, entry by entry and in the order of the tokens. Each entry has another slot and at
  // least one token. Throws std::invalid_argument for slots, ids and lengths that do not fit.
  virtual void Append(std::span<const SlotTokens> added, std::span<float> logits) = 0;
};

}  // namespace gp::engine
