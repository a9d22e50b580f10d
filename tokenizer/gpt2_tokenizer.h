// GPT-2's byte-level BPE: 256 byte tokens, one token per merge in the order of vocab.bpe, then
// <|endoftext|>. Special tokens in text are encoded as ordinary text. Equal to tiktoken: a piece
// that is a token is that token; otherwise any two neighbours whose bytes are a token may join,
// smallest id first, leftmost first. Any thread may call.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/pair_table.h"
#include "tokenizer/token_table.h"
#include "tokenizer/tokenizer.h"

namespace gp {

class Gpt2Tokenizer : public Tokenizer {
 public:
  // The text of a vocab.bpe: a "#version" line, then one merge of two tokens per line.
  // InvalidArgument names the line.
  static StatusOr<std::unique_ptr<Gpt2Tokenizer>> FromMerges(std::string_view vocab_bpe);

  // GPT-2's own, from the vocab.bpe that scripts/bootstrap installs (looked for beside the
  // program's tree, in share/gp/gpt2 of an installation, or where GP_GPT2_VOCAB points). NotFound
  // lists the places.
  static StatusOr<std::unique_ptr<Gpt2Tokenizer>> Installed();

  std::string_view kind() const override { return "gpt2"; }
  int64_t vocabulary_size() const override { return static_cast<int64_t>(texts_.size()); }
  StatusOr<std::vector<int32_t>> Encode(std::string_view text) const override;
  size_t CutAfter(std::string_view text, size_t begin) const override;
  std::string Decode(std::span<const int32_t> tokens) const override;
  std::string Serialized() const override;

  std::optional<int32_t> end_of_text() const override {
    return static_cast<int32_t>(texts_.size()) - 1;
  }

 private:
  class Encoding;  // one text's

  explicit Gpt2Tokenizer(std::string merges);
  Status AddMerges();
  void AddPairs();

  std::string merges_;              // lines without the version, as given
  std::vector<std::string> texts_;  // bytes by id
  TokenTable ids_;                  // without <|endoftext|>
  std::array<int32_t, 256> byte_ids_{};
  PairTable pairs_;
};

}  // namespace gp
