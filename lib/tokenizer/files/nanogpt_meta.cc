#include "tokenizer/files/nanogpt_meta.h"

#include <map>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/text/utf8.h"
#include "formats/pickle.h"

namespace gp {
namespace {

using formats::Pickle;
using Kind = Pickle::Value::Kind;

constexpr uint64_t kFileBytesMax = 16 << 20;

std::optional<char32_t> OnlyCharacter(const Pickle::Value& value) {
  std::string_view text = value.text;
  if (value.kind != Kind::kText) return std::nullopt;
  const auto character = TakeCodePoint(text);
  return text.empty() ? character : std::nullopt;
}

Status NotNumbered(const std::string& path, int64_t id) {
  return InvalidArgument(
      "{}: id {} of 'itos' breaks the order: expected ids from 0 on, each once, that count the "
      "sorted characters, as nanoGPT's prepare.py numbers them",
      path, id);
}

StatusOr<std::vector<char32_t>> CharactersOf(const Pickle& pickle, const Pickle::Value& itos,
                                             const std::string& path) {
  std::map<int64_t, char32_t> by_id;
  for (const auto& [key, value] : itos.entries) {
    const Pickle::Value& id = pickle.at(key);
    const auto character = OnlyCharacter(pickle.at(value));
    if (id.kind != Kind::kNumber || !character) {
      return InvalidArgument(
          "{}: 'itos' must map each id to one character; tokens that are not characters are read "
          "with data.tokenizer: gpt2 or bytes",
          path);
    }
    if (!by_id.emplace(id.number, *character).second) return NotNumbered(path, id.number);
  }
  std::vector<char32_t> characters;
  for (const auto& [id, character] : by_id) {
    const bool next = id == static_cast<int64_t>(characters.size()) &&
                      (characters.empty() || character > characters.back());
    if (!next) return NotNumbered(path, id);
    characters.push_back(character);
  }
  return characters;
}

}  // namespace

StatusOr<std::unique_ptr<CharTokenizer>> ReadNanoGptMeta(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kFileBytesMax));
  ASSIGN_OR_RETURN(const Pickle pickle, Pickle::Parse(bytes, path));
  const Pickle::Value* itos = pickle.Find(pickle.root(), "itos");
  if (itos == nullptr || itos->kind != Kind::kDictionary || itos->entries.empty()) {
    return InvalidArgument(
        "{}: expected a dictionary with 'itos', from ids to characters, as nanoGPT's prepare.py "
        "writes it",
        path);
  }
  ASSIGN_OR_RETURN(std::vector<char32_t> characters, CharactersOf(pickle, *itos, path));
  return std::make_unique<CharTokenizer>(std::move(characters));
}

}  // namespace gp
