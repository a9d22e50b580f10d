// Byte-level BPE: text is cut into pieces by GPT-2's rule. A piece starts as the tokens of its
// bytes; the applicable merge with the highest priority joins them, leftmost first, until none
// applies. Encode takes special tokens in text for ordinary text. Gives the same ids as Hugging
// Face's tokenizers with the same merges, and as tiktoken with GPT-2's. Any thread may call.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/byte_pair_vocabulary.h"
#include "tokenizer/pair_table.h"
#include "tokenizer/token_table.h"
#include "tokenizer/tokenizer.h"

namespace gp {

class BytePairTokenizer : public Tokenizer {
 public:
  explicit BytePairTokenizer(BytePairVocabulary vocabulary);

  // The text of a vocab.bpe, numbered as GPT-2's: bytes, merges, <|endoftext|>. InvalidArgument
  // names the line.
  static StatusOr<std::unique_ptr<BytePairTokenizer>> FromMerges(std::string_view vocab_bpe);

  // GPT-2's own, from a vocab.bpe: the one that GP_GPT2_VOCAB names, if it exists; otherwise the
  // first that is found in the directories above the program's: in share/gp/gpt2 of an
  // installation, or in .deps of a source tree, where scripts/bootstrap installs it. NotFound lists
  // the places; DataLoss: it is another file.
  static StatusOr<std::unique_ptr<BytePairTokenizer>> InstalledGpt2();

  // "gpt2" with GPT-2's own vocabulary, "bpe" with any other.
  std::string_view kind() const override { return gpt2_ ? "gpt2" : "bpe"; }
  int64_t vocabulary_size() const override { return std::ssize(vocabulary_.tokens); }
  std::vector<int32_t> special_ids() const override { return vocabulary_.special; }
  StatusOr<std::vector<int32_t>> Encode(std::string_view text) const override;
  StatusOr<std::vector<int32_t>> EncodeWithSpecial(std::string_view text) const override;
  size_t CutAfter(std::string_view text, size_t begin) const override;
  std::string Decode(std::span<const int32_t> tokens) const override;
  std::string Serialized() const override;

  const BytePairVocabulary& vocabulary() const { return vocabulary_; }
  // A token that a piece of text becomes only because of whole_pieces: merges would not make it.
  // Nullopt if whole_pieces changes no text's ids.
  std::optional<int32_t> token_without_merges() const { return token_without_merges_; }

 private:
  class Encoding;  // encodes one text

  std::string Identity() const override;
  // Includes the purposes of the special tokens, if given.
  std::string Format(const SpecialTokens* special) const;
  void AddWholePieces();

  BytePairVocabulary vocabulary_;
  bool gpt2_ = false;
  std::array<int32_t, 256> byte_ids_{};
  PairTable pairs_;
  TokenTable whole_;  // pieces that are one token
  std::optional<int32_t> token_without_merges_;
};

// The tokenizer of a vocabulary: a ByteTokenizer if it has only the 256 bytes, in order.
std::unique_ptr<Tokenizer> MakeBytePairTokenizer(BytePairVocabulary vocabulary);

}  // namespace gp
