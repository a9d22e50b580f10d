#include "tokenizer/byte_pair_vocabulary.h"

#include <algorithm>
#include <utility>

#include "base/text/excerpt.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/gpt2_splitter.h"
#include "tokenizer/piece_merger.h"

namespace gp {
namespace {

constexpr char kSpecialInText[] =
    "is a special token: Hugging Face would match it in any text, but gp would not; make another "
    "token the special one";

// The bytes as files write them.
std::string Shown(std::string_view bytes) { return Excerpt(InByteAlphabet(bytes)); }

bool LooksSpecial(std::string_view text) {
  return text.size() > 2 && ((text.front() == '<' && text.back() == '>') ||
                             (text.front() == '[' && text.back() == ']'));
}

StatusOr<std::string> PartBytes(std::string_view part) {
  auto bytes = BytesOfAlphabet(part);
  if (bytes && !bytes->empty()) return *std::move(bytes);
  return InvalidArgument("'{}' has a character that does not stand for a byte", Excerpt(part));
}

}  // namespace

bool BytePairVocabulary::IsSpecial(int32_t id) const {
  return std::binary_search(special.begin(), special.end(), id);
}

SpecialTokenFlags BytePairVocabulary::FlagsOf(int32_t id) const {
  const auto found = special_flags.find(id);
  return found == special_flags.end() ? SpecialTokenFlags() : found->second;
}

std::vector<int32_t> BytePairVocabulary::ByteIds() const {
  std::vector<int32_t> ids(256);
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].size() != 1 || IsSpecial(static_cast<int32_t>(id))) continue;
    ids[static_cast<unsigned char>(tokens[id][0])] = static_cast<int32_t>(id);
  }
  return ids;
}

BytePairVocabularyBuilder::BytePairVocabularyBuilder(int64_t tokens_max)
    : placed_(static_cast<size_t>(std::min(tokens_max, kTokensMax))), made_(placed_.size()) {
  vocabulary_.tokens.resize(placed_.size());
}

Status BytePairVocabularyBuilder::Place(std::string_view text, int64_t id) {
  if (id < 0 || id >= std::ssize(placed_)) {
    return InvalidArgument(
        "the id {} of '{}' is not below the number of tokens, {}: ids count from 0 without a gap",
        id, Excerpt(text), placed_.size());
  }
  const auto index = static_cast<size_t>(id);
  if (placed_[index]) {
    return InvalidArgument("the id {} is given twice: to '{}' and to '{}'", id,
                           Excerpt(vocabulary_.tokens[index]), Excerpt(text));
  }
  placed_[index] = true;
  vocabulary_.tokens[index] = text;
  ++count_;
  return OkStatus();
}

Status BytePairVocabularyBuilder::AddToken(std::string_view bytes, int64_t id) {
  if (bytes.empty()) return InvalidArgument("the token with the id {} is empty", id);
  if (ids_.Find(bytes) != TokenTable::kNone) {
    return InvalidArgument("the token '{}' occurs twice", Shown(bytes));
  }
  RETURN_IF_ERROR(Place(bytes, id));
  ids_.Add(bytes, static_cast<int32_t>(id));
  made_[static_cast<size_t>(id)] = bytes.size() == 1;
  return OkStatus();
}

Status BytePairVocabularyBuilder::AddSpecial(std::string_view text, int64_t id,
                                             const SpecialTokenFlags& flags) {
  RETURN_IF_ERROR(Place(text, id));
  vocabulary_.special.push_back(static_cast<int32_t>(id));
  if (flags != SpecialTokenFlags()) {
    vocabulary_.special_flags.emplace(static_cast<int32_t>(id), flags);
  }
  return OkStatus();
}

Status BytePairVocabularyBuilder::AddUnlisted(std::string_view text, int64_t id) {
  RETURN_IF_ERROR(AddSpecial(text, id));
  vocabulary_.unlisted.insert(static_cast<int32_t>(id));
  return OkStatus();
}

StatusOr<int32_t> BytePairVocabularyBuilder::FindPart(std::string_view text) const {
  ASSIGN_OR_RETURN(const std::string bytes, PartBytes(text));
  const int32_t id = ids_.Find(bytes);
  if (id != TokenTable::kNone) return id;
  return InvalidArgument("joins '{}', which is not in the vocabulary", Excerpt(text));
}

Status BytePairVocabularyBuilder::AddJoin(BytePairMerge merge) {
  const auto rank = static_cast<int32_t>(vocabulary_.merges.size());
  if (!pairs_.Add(merge.left, merge.right, MakeJoin(rank, merge.joined))) {
    return InvalidArgument("occurs twice");
  }
  made_[static_cast<size_t>(merge.joined)] = true;
  vocabulary_.merges.push_back(merge);
  return OkStatus();
}

Status BytePairVocabularyBuilder::AddMerge(std::string_view left, std::string_view right) {
  ASSIGN_OR_RETURN(const int32_t left_id, FindPart(left));
  ASSIGN_OR_RETURN(const int32_t right_id, FindPart(right));
  const std::string bytes = vocabulary_.tokens[static_cast<size_t>(left_id)] +
                            vocabulary_.tokens[static_cast<size_t>(right_id)];
  const int32_t joined = ids_.Find(bytes);
  if (joined == TokenTable::kNone) {
    return InvalidArgument("makes '{}', which {}", Shown(bytes),
                           IsSpecialText(bytes) ? kSpecialInText : "has no id");
  }
  return AddJoin({left_id, right_id, joined});
}

Status BytePairVocabularyBuilder::AddMergeAndToken(std::string_view left, std::string_view right) {
  ASSIGN_OR_RETURN(const int32_t left_id, FindPart(left));
  ASSIGN_OR_RETURN(const int32_t right_id, FindPart(right));
  const auto joined = static_cast<int32_t>(count_);
  RETURN_IF_ERROR(AddToken(vocabulary_.tokens[static_cast<size_t>(left_id)] +
                               vocabulary_.tokens[static_cast<size_t>(right_id)],
                           joined));
  return AddJoin({left_id, right_id, joined});
}

Status BytePairVocabularyBuilder::DeriveMerges() {
  RETURN_IF_ERROR(CheckBytes());
  PieceMerger merger(pairs_);
  std::vector<int32_t> parts;
  for (int32_t id = 0; id < count_; ++id) {
    const std::string& bytes = vocabulary_.tokens[static_cast<size_t>(id)];
    if (bytes.size() == 1 || ids_.Find(bytes) != id) continue;  // a byte, or special
    parts.clear();
    for (const char byte : bytes) parts.push_back(ids_.Find({&byte, 1}));
    merger.Merge(parts);
    if (parts.size() != 2) {
      return InvalidArgument(
          "the token '{}' (rank {}) is not two tokens of smaller ranks: the ranks are out of "
          "order, or it was added to a finished vocabulary; use the same tokenizer's "
          "tokenizer.json, which lists the merges",
          Shown(bytes), id);
    }
    RETURN_IF_ERROR(AddJoin({parts[0], parts[1], id}));
  }
  return OkStatus();
}

bool BytePairVocabularyBuilder::IsSpecialText(std::string_view bytes) const {
  const std::string text = InByteAlphabet(bytes);
  return std::any_of(vocabulary_.special.begin(), vocabulary_.special.end(), [&](int32_t id) {
    return vocabulary_.tokens[static_cast<size_t>(id)] == text;
  });
}

Status BytePairVocabularyBuilder::CheckBytes() const {
  for (const unsigned char byte : AlphabetOrder()) {
    const char character = static_cast<char>(byte);
    if (ids_.Find({&character, 1}) != TokenTable::kNone) continue;
    if (IsSpecialText({&character, 1})) {
      return InvalidArgument("the token of the byte 0x{:02x} ('{}') {}", byte,
                             Shown({&character, 1}), kSpecialInText);
    }
    return InvalidArgument(
        "the byte 0x{:02x} ('{}') has no token: a byte-level BPE needs all 256 to encode every "
        "text; Hugging Face's trainer keeps them all with "
        "initial_alphabet=pre_tokenizers.ByteLevel.alphabet()",
        byte, Shown({&character, 1}));
  }
  return OkStatus();
}

Status BytePairVocabularyBuilder::CheckMade() {
  for (size_t id = 0; id < vocabulary_.tokens.size(); ++id) {
    const std::string& bytes = vocabulary_.tokens[id];
    const bool ordinary = ids_.Find(bytes) == static_cast<int32_t>(id);
    if (!ordinary || made_[id]) continue;
    if (LooksSpecial(bytes) && !(vocabulary_.whole_pieces && IsPiece(bytes))) {
      vocabulary_.special.push_back(static_cast<int32_t>(id));
      // transformers' GPT2Tokenizer always looks for <|endoftext|>, and for other tokens only when
      // a file names them.
      if (bytes != kEndOfText) vocabulary_.unlisted.insert(static_cast<int32_t>(id));
    } else if (!vocabulary_.whole_pieces) {
      return InvalidArgument("no merge makes the token '{}' (id {}): merges are missing",
                             Shown(bytes), id);
    }
  }
  return OkStatus();
}

StatusOr<BytePairVocabulary> BytePairVocabularyBuilder::Finish() {
  for (int64_t id = 0; id < count_; ++id) {
    if (placed_[static_cast<size_t>(id)]) continue;
    return InvalidArgument("no token has the id {}: ids count from 0 without a gap", id);
  }
  vocabulary_.tokens.resize(static_cast<size_t>(count_));
  RETURN_IF_ERROR(CheckBytes());
  RETURN_IF_ERROR(CheckMade());
  std::sort(vocabulary_.special.begin(), vocabulary_.special.end());
  return std::move(vocabulary_);
}

}  // namespace gp
