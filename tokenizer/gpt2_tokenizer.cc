#include "tokenizer/gpt2_tokenizer.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/utf8.h"
#include "tokenizer/gpt2_splitter.h"
#include "tokenizer/gpt2_vocabulary.h"
#include "tokenizer/piece_cache.h"
#include "tokenizer/piece_merger.h"

namespace gp {
namespace {

// vocab.bpe writes bytes as printable characters: bytes that are printable in Latin-1 as
// themselves, the other 68 as U+0100 and up, in order. Ids of single bytes follow this order too,
// printable ones first.
struct ByteAlphabet {
  std::array<char32_t, 256> character_of{};
  std::array<unsigned char, 256> byte_of_id{};
  std::unordered_map<char32_t, unsigned char> byte_of;

  ByteAlphabet() {
    const auto printable = [](int byte) {
      return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    };
    size_t id = 0;
    for (int byte = 0; byte < 256; ++byte) {
      if (printable(byte)) Add(byte, static_cast<char32_t>(byte), id++);
    }
    char32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      if (!printable(byte)) Add(byte, next++, id++);
    }
  }

  void Add(int byte, char32_t character, size_t id) {
    character_of[static_cast<size_t>(byte)] = character;
    byte_of_id[id] = static_cast<unsigned char>(byte);
    byte_of[character] = static_cast<unsigned char>(byte);
  }
};

const ByteAlphabet& Alphabet() {
  static const ByteAlphabet kAlphabet;
  return kAlphabet;
}

// The bytes that a token of vocab.bpe stands for; nothing when it has a character of no byte.
std::optional<std::string> BytesOf(std::string_view token) {
  std::string bytes;
  while (!token.empty()) {
    const auto character = TakeCodePoint(token);
    if (!character) return std::nullopt;
    const auto byte = Alphabet().byte_of.find(*character);
    if (byte == Alphabet().byte_of.end()) return std::nullopt;
    bytes.push_back(static_cast<char>(byte->second));
  }
  return bytes;
}

std::string_view TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

Gpt2Tokenizer::Gpt2Tokenizer(std::string merges) : merges_(std::move(merges)) {
  for (const unsigned char byte : Alphabet().byte_of_id) {
    texts_.emplace_back(1, static_cast<char>(byte));
    byte_ids_[byte] = static_cast<int32_t>(texts_.size()) - 1;
    ids_.Add(texts_.back(), byte_ids_[byte]);
  }
}

// One text under encoding.
class Gpt2Tokenizer::Encoding {
 public:
  Encoding(const Gpt2Tokenizer& tokenizer, std::string_view text)
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
        AddNew(piece, tokenizer_.ids_.Find(piece));
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
    AddNew(piece, tokenizer_.ids_.Find(key));
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

  const Gpt2Tokenizer& tokenizer_;
  std::string_view rest_;
  PieceCache cache_;
  PieceMerger merger_;
  std::vector<int32_t> parts_;
  std::vector<int32_t> tokens_;
};

Status Gpt2Tokenizer::AddMerges() {
  std::string_view rest = merges_;
  for (int line_number = 1; !rest.empty(); ++line_number) {
    const std::string_view line = TakeLine(rest);
    if (line.empty()) continue;
    const auto bad = [&](std::string_view what) {
      return InvalidArgument("merge {} ('{}') {}", line_number, line, what);
    };
    const size_t space = line.find(' ');
    if (space == std::string_view::npos) return bad("is not two tokens");
    const auto left = BytesOf(line.substr(0, space)), right = BytesOf(line.substr(space + 1));
    if (!left || !right) return bad("has a character that stands for no byte");
    if (ids_.Find(*left) == TokenTable::kNone || ids_.Find(*right) == TokenTable::kNone) {
      return bad("joins a token that is not there");
    }
    texts_.push_back(*left + *right);
    const auto id = static_cast<int32_t>(texts_.size()) - 1;
    if (!ids_.Add(texts_.back(), id)) return bad("makes a token that is there already");
  }
  AddPairs();
  texts_.push_back("<|endoftext|>");
  return OkStatus();
}

// Every way to cut a token into two tokens, not only its merge.
void Gpt2Tokenizer::AddPairs() {
  for (size_t id = 0; id < texts_.size(); ++id) {
    const std::string_view bytes = texts_[id];
    for (size_t cut = 1; cut < bytes.size(); ++cut) {
      const int32_t left = ids_.Find(bytes.substr(0, cut));
      if (left == TokenTable::kNone) continue;
      const int32_t right = ids_.Find(bytes.substr(cut));
      if (right != TokenTable::kNone) pairs_.Add(left, right, static_cast<int32_t>(id));
    }
  }
}

StatusOr<std::unique_ptr<Gpt2Tokenizer>> Gpt2Tokenizer::FromMerges(std::string_view vocab_bpe) {
  if (vocab_bpe.starts_with("#version")) TakeLine(vocab_bpe);
  std::unique_ptr<Gpt2Tokenizer> tokenizer(new Gpt2Tokenizer(std::string(vocab_bpe)));
  RETURN_IF_ERROR(tokenizer->AddMerges());
  return tokenizer;
}

StatusOr<std::unique_ptr<Gpt2Tokenizer>> Gpt2Tokenizer::Installed() {
  ASSIGN_OR_RETURN(const std::string text, ReadGpt2Vocabulary());
  return FromMerges(text);
}

StatusOr<std::vector<int32_t>> Gpt2Tokenizer::Encode(std::string_view text) const {
  return Encoding(*this, text).Run();
}

size_t Gpt2Tokenizer::CutAfter(std::string_view text, size_t begin) const {
  return FindPieceStart(text, begin);
}

std::string Gpt2Tokenizer::Decode(std::span<const int32_t> tokens) const {
  std::string text;
  for (const int32_t token : tokens) {
    const bool known = token >= 0 && token < vocabulary_size();
    text += known ? texts_[static_cast<size_t>(token)] : "\xef\xbf\xbd";
  }
  return text;
}

std::string Gpt2Tokenizer::Serialized() const {
  return nlohmann::ordered_json{{"kind", "gpt2"}, {"merges", merges_}}.dump();
}

}  // namespace gp
