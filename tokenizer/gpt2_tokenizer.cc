#include "tokenizer/gpt2_tokenizer.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <queue>
#include <utility>

#include "base/file.h"
#include "base/utf8.h"
#include "tokenizer/gpt2_splitter.h"
#include "tokenizer/gpt2_vocabulary.h"

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

// The parts of a piece while it is merged: a list in an array; a part that was merged into its left
// neighbour has no size.
struct Part {
  size_t size_bytes = 1;
  size_t previous = 0;
  size_t next = 0;
};

struct Merge {
  int32_t id = 0;         // of the token that it makes: merges with smaller ids come first
  size_t left = 0;        // position of the left part
  size_t size_bytes = 0;  // of both parts; a stale entry's parts have grown since
  bool operator>(const Merge& other) const {
    return id != other.id ? id > other.id : left > other.left;
  }
};

}  // namespace

Gpt2Tokenizer::Gpt2Tokenizer(std::string merges) : merges_(std::move(merges)) {
  for (const unsigned char byte : Alphabet().byte_of_id) {
    texts_.emplace_back(1, static_cast<char>(byte));
    ids_[texts_.back()] = static_cast<int32_t>(texts_.size()) - 1;
  }
}

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
    if (!ids_.contains(*left) || !ids_.contains(*right))
      return bad("joins a token that is not there");
    texts_.push_back(*left + *right);
    const auto id = static_cast<int32_t>(texts_.size()) - 1;
    if (!ids_.emplace(texts_.back(), id).second) return bad("makes a token that is there already");
  }
  texts_.push_back("<|endoftext|>");
  return OkStatus();
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
  std::vector<int32_t> tokens;
  while (!text.empty()) EncodePiece(TakePiece(text), tokens);
  return tokens;
}

// Joins the neighbours whose token has the smallest id until no neighbours make a token. A heap
// instead of a scan per join keeps a long piece (a line of dashes) from taking quadratic time.
void Gpt2Tokenizer::EncodePiece(std::string_view piece, std::vector<int32_t>& tokens) const {
  if (const auto whole = ids_.find(piece); whole != ids_.end()) {
    tokens.push_back(whole->second);
    return;
  }
  const size_t end = piece.size();
  std::vector<Part> parts(end);
  std::priority_queue<Merge, std::vector<Merge>, std::greater<>> merges;
  const auto propose = [&](size_t left) {
    const size_t right = parts[left].next;
    if (right == end) return;
    const size_t size_bytes = parts[left].size_bytes + parts[right].size_bytes;
    const auto found = ids_.find(piece.substr(left, size_bytes));
    if (found != ids_.end()) merges.push({found->second, left, size_bytes});
  };
  for (size_t i = 0; i < end; ++i) parts[i] = {1, i == 0 ? end : i - 1, i + 1};
  for (size_t i = 0; i < end; ++i) propose(i);
  while (!merges.empty()) {
    const Merge merge = merges.top();
    merges.pop();
    const size_t left = merge.left, right = parts[left].next;
    const bool stale = parts[left].size_bytes == 0 || right == end ||
                       parts[left].size_bytes + parts[right].size_bytes != merge.size_bytes;
    if (stale) continue;
    parts[left].size_bytes = merge.size_bytes;
    parts[right].size_bytes = 0;
    parts[left].next = parts[right].next;
    if (parts[left].next != end) parts[parts[left].next].previous = left;
    if (parts[left].previous != end) propose(parts[left].previous);
    propose(left);
  }
  for (size_t i = 0; i < end; i = parts[i].next) {
    tokens.push_back(ids_.find(piece.substr(i, parts[i].size_bytes))->second);
  }
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
