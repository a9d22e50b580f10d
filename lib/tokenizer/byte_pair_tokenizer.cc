#include "tokenizer/byte_pair_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tokenizer/byte_tokenizer.h"
#include "tokenizer/gpt2_splitter.h"
#include "tokenizer/gpt2_vocabulary.h"
#include "tokenizer/merges_text.h"
#include "tokenizer/piece_cache.h"
#include "tokenizer/piece_merger.h"
#include "tokenizer/special_text.h"
#include "tokenizer/tokenizer_json.h"

namespace gp {
namespace {

bool IsBytesAlone(const BytePairVocabulary& vocabulary) {
  if (vocabulary.tokens.size() != 256) return false;
  const std::vector<int32_t> ids = vocabulary.ByteIds();
  return std::is_sorted(ids.begin(), ids.end());
}

}  // namespace

// Encodes one text.
class BytePairTokenizer::Encoding {
 public:
  Encoding(const BytePairTokenizer& tokenizer, std::string_view text)
      : tokenizer_(tokenizer), rest_(text), cache_(text.size()), merger_(tokenizer.pairs_) {
    tokens_.reserve(text.size() / 4 + 16);
  }

  std::vector<int32_t> Run() {
    while (!rest_.empty()) {
      const size_t readable = rest_.size();
      const std::string_view piece = TakePiece(rest_);
      if (piece.size() <= PieceKey::kBytesMax) {
        AddShort(piece, KeyOf(piece, readable));
      } else {
        AddNew(piece, tokenizer_.whole_.Find(piece));
      }
    }
    return std::move(tokens_);
  }

 private:
  void AddShort(std::string_view piece, const PieceKey& key) {
    const std::span<const int32_t> known = cache_.Find(key);
    if (!known.empty()) {
      tokens_.insert(tokens_.end(), known.begin(), known.end());
      return;
    }
    const size_t before = tokens_.size();
    AddNew(piece, tokenizer_.whole_.Find(key));
    cache_.Put(key, std::span<const int32_t>(tokens_).subspan(before));
  }

  // `whole` is the token of the whole piece, if there is one.
  void AddNew(std::string_view piece, int32_t whole) {
    if (whole != TokenTable::kNone) {
      tokens_.push_back(whole);
      return;
    }
    parts_.clear();
    for (const char byte : piece) {
      parts_.push_back(tokenizer_.byte_ids_[static_cast<unsigned char>(byte)]);
    }
    merger_.Merge(parts_);
    tokens_.insert(tokens_.end(), parts_.begin(), parts_.end());
  }

  const BytePairTokenizer& tokenizer_;
  std::string_view rest_;
  PieceCache cache_;
  PieceMerger merger_;
  std::vector<int32_t> parts_;
  std::vector<int32_t> tokens_;
};

BytePairTokenizer::BytePairTokenizer(BytePairVocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)), gpt2_(IsGpt2Vocabulary(vocabulary_)) {
  const std::vector<int32_t> byte_ids = vocabulary_.ByteIds();
  std::copy(byte_ids.begin(), byte_ids.end(), byte_ids_.begin());
  int32_t rank = 0;
  for (const BytePairMerge& merge : vocabulary_.merges) {
    pairs_.Add(merge.left, merge.right, MakeJoin(rank++, merge.joined));
  }
  AddWholePieces();
  set_special_tokens(SpecialTokensBySpelling(vocabulary_.tokens, vocabulary_.special));
}

// Fills whole_, because looking a piece up is faster than merging it. A token that merging would
// not make is in it only if the vocabulary has whole_pieces.
void BytePairTokenizer::AddWholePieces() {
  PieceMerger merger(pairs_);
  std::vector<int32_t> parts;
  for (int32_t id = 0; id < vocabulary_size(); ++id) {
    if (vocabulary_.IsSpecial(id)) continue;
    const std::string& bytes = vocabulary_.tokens[static_cast<size_t>(id)];
    parts.clear();
    for (const char byte : bytes) parts.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
    merger.Merge(parts);
    const bool merged = parts == std::vector<int32_t>{id};
    if (vocabulary_.whole_pieces || merged) whole_.Add(bytes, id);
    const bool only_whole = vocabulary_.whole_pieces && !merged && IsPiece(bytes);
    if (only_whole && !token_without_merges_) token_without_merges_ = id;
  }
}

StatusOr<std::unique_ptr<BytePairTokenizer>> BytePairTokenizer::FromMerges(
    std::string_view vocab_bpe) {
  ASSIGN_OR_RETURN(BytePairVocabulary vocabulary, ParseNumberedMerges(vocab_bpe));
  return std::make_unique<BytePairTokenizer>(std::move(vocabulary));
}

StatusOr<std::unique_ptr<BytePairTokenizer>> BytePairTokenizer::InstalledGpt2() {
  ASSIGN_OR_RETURN(const std::string text, ReadGpt2Vocabulary());
  return FromMerges(text);
}

StatusOr<std::vector<int32_t>> BytePairTokenizer::Encode(std::string_view text) const {
  return Encoding(*this, text).Run();
}

StatusOr<std::vector<int32_t>> BytePairTokenizer::EncodeWithSpecial(std::string_view text) const {
  std::vector<int32_t> tokens;
  const auto append = [&](std::string_view part) {
    const std::vector<int32_t> of_part = Encoding(*this, part).Run();
    tokens.insert(tokens.end(), of_part.begin(), of_part.end());
  };
  size_t begin = 0;
  for (const SpecialText& special : FindSpecialTexts(vocabulary_, text)) {
    append(text.substr(begin, special.begin - begin));
    tokens.push_back(special.id);
    begin = special.end;
  }
  append(text.substr(begin));
  return tokens;
}

size_t BytePairTokenizer::CutAfter(std::string_view text, size_t begin) const {
  return FindPieceStart(text, begin);
}

std::string BytePairTokenizer::Decode(std::span<const int32_t> tokens) const {
  std::string text;
  for (const int32_t token : tokens) {
    const bool known = token >= 0 && token < vocabulary_size();
    text += known ? vocabulary_.tokens[static_cast<size_t>(token)] : "\xef\xbf\xbd";
  }
  return text;
}

std::string BytePairTokenizer::Serialized() const {
  const bool by_spelling =
      special_tokens() == SpecialTokensBySpelling(vocabulary_.tokens, vocabulary_.special);
  return Format(by_spelling ? nullptr : &special_tokens());
}

std::string BytePairTokenizer::Format(const SpecialTokens* special) const {
  if (!gpt2_) return FormatTokenizerJson(vocabulary_, special);
  nlohmann::ordered_json json = {{"kind", "gpt2"}, {"merges", MergeLines(vocabulary_)}};
  if (special != nullptr) json["special_tokens"] = SpecialTokensJson(*special);
  return json.dump();
}

// Training text is not searched for special tokens, so their flags and purposes change no ids.
std::string BytePairTokenizer::Identity() const {
  if (vocabulary_.special_flags.empty() && vocabulary_.unlisted.empty()) return Format(nullptr);
  BytePairVocabulary vocabulary = vocabulary_;
  vocabulary.special_flags.clear();
  vocabulary.unlisted.clear();
  return FormatTokenizerJson(vocabulary);
}

std::unique_ptr<Tokenizer> MakeBytePairTokenizer(BytePairVocabulary vocabulary) {
  if (IsBytesAlone(vocabulary)) return std::make_unique<ByteTokenizer>();
  return std::make_unique<BytePairTokenizer>(std::move(vocabulary));
}

}  // namespace gp
