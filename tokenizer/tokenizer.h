// Tokenizer: text to token ids and back. A tokenizer is constant after construction and can be
// written into a checkpoint and read back, so that a checkpoint alone is enough to sample. Any
// thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gp {

struct AddedToken;

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // "bytes", "chars", "gpt2", or "bpe" for byte-level BPE with another vocabulary.
  virtual std::string_view kind() const = 0;
  virtual int64_t vocabulary_size() const = 0;
  // The token that separates documents; nothing where the vocabulary has none.
  virtual std::optional<int32_t> end_of_text() const { return std::nullopt; }

  // InvalidArgument names the first place in `text` that the vocabulary cannot express.
  virtual StatusOr<std::vector<int32_t>> Encode(std::string_view text) const = 0;

  // The first place after 0, at or after `begin`, where `text` may be cut: the tokens of what lies
  // before and behind it are those of the whole. text.size() when there is none.
  virtual size_t CutAfter(std::string_view text, size_t begin) const = 0;

  // The text of the ids; an id outside the vocabulary becomes U+FFFD. Bytes that are no complete
  // UTF-8 sequence are passed on as they are.
  virtual std::string Decode(std::span<const int32_t> tokens) const = 0;

  // JSON; ParseTokenizer reads it back. Equal tokenizers give equal text.
  virtual std::string Serialized() const = 0;

  // sha256 of what Serialized() says about the ids of text, hex: what checkpoints compare.
  std::string Fingerprint() const;

 protected:
  // Serialized() without what changes no text's ids.
  virtual std::string Identity() const { return Serialized(); }
};

// The tokenizer that Serialized() wrote, or Hugging Face in a tokenizer.json. InvalidArgument names
// what is wrong.
StatusOr<std::unique_ptr<Tokenizer>> ParseTokenizer(std::string_view serialized);
// With `more` tokens, from files beside it.
StatusOr<std::unique_ptr<Tokenizer>> ParseTokenizer(std::string_view serialized,
                                                    const std::vector<AddedToken>& more);

}  // namespace gp
