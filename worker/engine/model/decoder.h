// Decoder: a model that remembers what it has read, for writing text token by token. Each slot
// holds one sequence; sequences in different slots are independent, and what a slot's next token is
// does not depend on the other slots. Standard library only; errors are exceptions. One thread
// calls.
#pragma once

#include <cstdint>
#include <span>

namespace gp::engine {

// Which of an entry's tokens have the logits of what follows them computed.
enum class WantedLogits { kNone, kLast, kAll };

// Tokens that follow what slot `slot` has.
struct SlotTokens {
  int64_t slot = 0;
  std::span<const int32_t> tokens;
  WantedLogits wanted = WantedLogits::kLast;

  // Rows of logits that Append writes for it: of its last `logit_rows()` tokens.
  int64_t logit_rows() const {
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

  // Empties a slot for another sequence.
  virtual void Clear(int64_t slot) = 0;

  // Reads the new tokens and returns the logits of what follows the wanted ones: fp32 rows of
  // `vocabulary`, entry by entry and in the order of the tokens. Slots differ; each gets at least
  // one token. Throws std::invalid_argument for slots, ids and lengths that do not fit.
  virtual void Append(std::span<const SlotTokens> added, std::span<float> logits) = 0;
};

}  // namespace gp::engine
