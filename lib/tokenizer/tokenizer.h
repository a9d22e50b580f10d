// Tokenizer: text to token ids and back. A tokenizer is constant after construction and can be
// written into a checkpoint and read back, so that a checkpoint alone is enough to sample. Any
// thread may call its const functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "tokenizer/special_tokens.h"

namespace gp {

struct AddedToken;

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // "bytes", "chars", "gpt2", or "bpe" for byte-level BPE with another vocabulary.
  virtual std::string_view kind() const = 0;
  virtual int64_t vocabulary_size() const = 0;
  // The ids that are never the result of encoding text, ascending.
  virtual std::vector<int32_t> special_ids() const { return {}; }
  // The purposes of the special tokens, taken from their spelling unless files define them.
  const SpecialTokens& special_tokens() const { return special_tokens_; }
  // The token that separates documents; nullopt if the vocabulary has none.
  std::optional<int32_t> end_of_text() const { return special_tokens_.eos; }
  // Call it before other threads use the tokenizer. REQUIRES: ids of the vocabulary.
  void set_special_tokens(SpecialTokens tokens) { special_tokens_ = std::move(tokens); }

  // InvalidArgument names the first place in `text` that the vocabulary cannot express.
  virtual StatusOr<std::vector<int32_t>> Encode(std::string_view text) const = 0;

  // The same, but text that spells a special token becomes that token, as in Hugging Face.
  virtual StatusOr<std::vector<int32_t>> EncodeWithSpecial(std::string_view text) const {
    return Encode(text);
  }

  // The first place after 0, at or after `begin`, where `text` may be cut: encoding both parts
  // gives the tokens of the whole. text.size() if there is none.
  virtual size_t CutAfter(std::string_view text, size_t begin) const = 0;

  // The text of the ids; an id outside the vocabulary becomes U+FFFD. Incomplete UTF-8 sequences
  // are passed on unchanged.
  virtual std::string Decode(std::span<const int32_t> tokens) const = 0;

  // JSON; ParseTokenizer reads it back. Equal tokenizers give equal text.
  virtual std::string Serialized() const = 0;

  // sha256, in hex, of the parts of Serialized() that determine the ids of text; checkpoints
  // compare it.
  std::string Fingerprint() const;
  // Identifies prepared data besides the fingerprint: ", end of text 501" if files name another
  // token than the spelling suggests, otherwise empty.
  std::string NamedEndOfText() const;

 protected:
  // Serialized() without the parts that change no text's ids.
  virtual std::string Identity() const { return Serialized(); }

 private:
  SpecialTokens special_tokens_;
};

// The tokenizer that Serialized() or Hugging Face wrote as a tokenizer.json. InvalidArgument names
// the problem.
StatusOr<std::unique_ptr<Tokenizer>> ParseTokenizer(std::string_view serialized);
// The same with `more` tokens, from files beside it.
StatusOr<std::unique_ptr<Tokenizer>> ParseTokenizer(std::string_view serialized,
                                                    const std::vector<AddedToken>& more);

}  // namespace gp
