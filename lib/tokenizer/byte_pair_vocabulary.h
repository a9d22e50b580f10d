// BytePairVocabulary: the contents of a byte-level BPE, independent of its file format: tokens by
// id, and merges in order of priority. Its builder validates the files. Values; any thread may
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/pair_table.h"
#include "tokenizer/token_table.h"

namespace gp {

inline constexpr char kEndOfText[] = "<|endoftext|>";

struct BytePairMerge {
  int32_t left = 0;
  int32_t right = 0;
  int32_t joined = 0;
  bool operator==(const BytePairMerge&) const = default;
};

// How Hugging Face finds a special token in text: only as a separate word, including the white
// space before it or after it.
struct SpecialTokenFlags {
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  bool operator==(const SpecialTokenFlags&) const = default;
};

struct BytePairVocabulary {
  std::vector<std::string> tokens;  // by id: bytes; for a special token its text
  std::vector<int32_t> special;     // ascending; no text is encoded to one of them
  std::map<int32_t, SpecialTokenFlags> special_flags;  // for those that have any
  std::set<int32_t> unlisted;         // special, but Hugging Face does not search text for them
  std::vector<BytePairMerge> merges;  // no pair twice
  // A piece of text that equals a token becomes that token, even if the merges would not make it.
  bool whole_pieces = false;

  bool IsSpecial(int32_t id) const;
  SpecialTokenFlags FlagsOf(int32_t id) const;
  // The id of each byte.
  std::vector<int32_t> ByteIds() const;
};

// Its Add functions return the problem without the place, which the caller adds.
class BytePairVocabularyBuilder {
 public:
  static constexpr int64_t kTokensMax = int64_t{1} << 24;  // the largest model.vocab

  // Builds a vocabulary of at most `tokens_max` tokens.
  explicit BytePairVocabularyBuilder(int64_t tokens_max);

  // AddToken adds a token of these bytes. AddSpecial adds a special token, which no text is encoded
  // to.
  Status AddToken(std::string_view bytes, int64_t id);
  Status AddSpecial(std::string_view text, int64_t id, const SpecialTokenFlags& flags = {});
  // Adds a token with characters outside the byte alphabet, which only the vocabulary lists.
  Status AddUnlisted(std::string_view text, int64_t id);
  // `left` and `right` are in the byte alphabet; these tokens and the joined one exist already.
  Status AddMerge(std::string_view left, std::string_view right);
  // The same, but adds the joined token, with the next id.
  Status AddMergeAndToken(std::string_view left, std::string_view right);
  // For tokens whose ids are their ranks: joins each token's bytes by the merges of smaller ids;
  // the two tokens that remain are its merge.
  Status DeriveMerges();
  void SetWholePieces(bool whole_pieces) { vocabulary_.whole_pieces = whole_pieces; }

  int64_t tokens() const { return count_; }

  // Checks that every id from 0 on has a token, every byte has one, and merges make all the others.
  // A token without a merge that is written <like this> or [so] is special, unless a piece of text
  // becomes it whole.
  StatusOr<BytePairVocabulary> Finish();

 private:
  Status Place(std::string_view text, int64_t id);
  // The id of one part of a merge.
  StatusOr<int32_t> FindPart(std::string_view text) const;
  Status AddJoin(BytePairMerge merge);
  // Whether a special token is spelled as these bytes are.
  bool IsSpecialText(std::string_view bytes) const;
  Status CheckBytes() const;
  Status CheckMade();

  BytePairVocabulary vocabulary_;
  std::vector<bool> placed_;  // by id
  std::vector<bool> made_;    // by id: a single byte, or the result of a merge
  int64_t count_ = 0;
  TokenTable ids_;  // from the bytes of tokens that are not special
  PairTable pairs_;
};

}  // namespace gp
