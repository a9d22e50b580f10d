#include "tokenizer/special_token_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/excerpt.h"
#include "base/file.h"
#include "formats/strict_json.h"

namespace gp {
namespace {

using formats::ValueOrNull;
using Json = nlohmann::json;
using Token = std::optional<int32_t>;

class Reader {
 public:
  Reader(const CompanionFiles& files, const Tokenizer& tokenizer)
      : files_(files), tokenizer_(tokenizer), tokens_(tokenizer.special_tokens()) {}

  StatusOr<SpecialTokens> Read() {
    const bool bos_named = Name("bos_token", tokens_.bos);
    const bool eos_named = Name("eos_token", tokens_.eos);
    const bool pad_named = Name("pad_token", tokens_.pad);
    Name("unk_token", tokens_.unk);
    ASSIGN_OR_RETURN(const Ids bos, ModelIds("bos_token_id"));
    ASSIGN_OR_RETURN(const Ids eos, ModelIds("eos_token_id"));
    ASSIGN_OR_RETURN(const Ids pad, ModelIds("pad_token_id"));
    if (!eos.empty() && !eos_named) TakeEosOfModel(eos);
    if (bos_named || !bos.empty()) tokens_.model_bos = bos.empty() ? tokens_.bos : bos[0];
    if (pad_named || !pad.empty()) tokens_.model_pad = pad.empty() ? tokens_.pad : pad[0];
    if (eos_named || !eos.empty()) tokens_.model_eos = eos.empty() ? AsList(tokens_.eos) : eos;
    if (bos_named) Compare("bos", bos, tokens_.bos, "an empty prompt begins with the former");
    if (pad_named) Compare("pad", pad, tokens_.pad, "both are kept");
    if (eos_named) {
      Compare("eos", eos, tokens_.eos,
              "texts that the model writes end at the former, documents are separated by the "
              "latter");
    }
    return tokens_;
  }

  std::vector<std::string> TakeNotes() { return std::move(notes_); }

 private:
  using Ids = std::vector<int32_t>;

  static Ids AsList(Token token) { return token ? Ids{*token} : Ids(); }

  bool IsSpecial(int32_t id) const {
    const Ids special = tokenizer_.special_ids();
    return std::binary_search(special.begin(), special.end(), id);
  }

  std::string Shown(int32_t id) const {
    return fmt::format("'{}' ({})", Excerpt(tokenizer_.Decode({&id, 1})), id);
  }

  Token IdOf(std::string_view text) const {
    for (const int32_t id : tokenizer_.special_ids()) {
      if (tokenizer_.Decode({&id, 1}) == text) return id;
    }
    return std::nullopt;
  }

  // Whether a file says which token that is; null says that there is none.
  bool Name(const char* key, Token& token) {
    const Json& map = files_.special_tokens_map.json;
    const Json& config = files_.tokenizer_config.json;
    const bool by_map = !ValueOrNull(map, key).is_null();
    if (!by_map && !config.contains(key)) return false;
    const Json& name = (by_map ? map : config).at(key);
    const Json& text = name.is_object() ? ValueOrNull(name, "content") : name;
    if (!text.is_string() || text == "") {
      token = std::nullopt;
      return true;
    }
    const Token id = IdOf(text.get_ref<const std::string&>());
    if (id) token = id;
    if (!id) {
      notes_.push_back(
          fmt::format("{} is '{}', which is no special token of the tokenizer: it is "
                      "passed over",
                      key, Excerpt(text.get_ref<const std::string&>())));
    }
    return id.has_value();
  }

  // A tokenizer whose own name for it is not known has the model's.
  void TakeEosOfModel(const Ids& ids) {
    const auto special =
        std::find_if(ids.begin(), ids.end(), [&](int32_t id) { return IsSpecial(id); });
    const bool ends_text =
        tokens_.eos && std::find(ids.begin(), ids.end(), *tokens_.eos) != ids.end();
    if (special != ids.end() && !ends_text) tokens_.eos = *special;
  }

  // Those of generation_config.json, or else of config.json.
  StatusOr<Ids> ModelIds(const char* key) {
    ASSIGN_OR_RETURN(const Ids general, IdsIn(files_.model_config, key));
    ASSIGN_OR_RETURN(const Ids generation, IdsIn(files_.generation_config, key));
    if (!generation.empty() && !general.empty() && generation != general) {
      notes_.push_back(
          fmt::format("{} is {} in config.json and {} in generation_config.json, "
                      "which counts",
                      key, ValueOrNull(files_.model_config.json, key).dump(),
                      ValueOrNull(files_.generation_config.json, key).dump()));
    }
    return generation.empty() ? general : generation;
  }

  // Without those that the tokenizer lacks: no text has them.
  StatusOr<Ids> IdsIn(const CompanionFile& file, const char* key) {
    const Json& value = ValueOrNull(file.json, key);
    if (value.is_null()) return Ids();
    const Json list = value.is_array() ? value : Json::array({value});
    Ids ids;
    for (const Json& id : list) {
      if (!id.is_number_integer()) {
        return InvalidArgument("{}: {} is {}, expected an id or a list of ids", file.path, key,
                               Excerpt(value.dump(-1, ' ', false, Json::error_handler_t::replace)));
      }
      if (id < 0 || id >= tokenizer_.vocabulary_size()) {
        notes_.push_back(
            fmt::format("{}: {} names the id {}, and the tokenizer has {} ids: it is "
                        "passed over",
                        BaseNameOf(file.path), key, id.dump(), tokenizer_.vocabulary_size()));
      } else {
        ids.push_back(id.get<int32_t>());
      }
    }
    return ids;
  }

  void Compare(std::string_view role, const Ids& ids, Token named, std::string_view consequence) {
    if (ids.empty() || (named && std::find(ids.begin(), ids.end(), *named) != ids.end())) return;
    notes_.push_back(
        fmt::format("the model's {0}_token_id is {1}, the tokenizer's {0}_token {2}: {3}", role,
                    Shown(ids[0]), named ? Shown(*named) : "null", consequence));
  }

  const CompanionFiles& files_;
  const Tokenizer& tokenizer_;
  SpecialTokens tokens_;
  std::vector<std::string> notes_;
};

}  // namespace

StatusOr<std::vector<std::string>> TakeSpecialTokens(const CompanionFiles& files,
                                                     Tokenizer& tokenizer) {
  Reader reader(files, tokenizer);
  ASSIGN_OR_RETURN(SpecialTokens tokens, reader.Read());
  tokenizer.set_special_tokens(std::move(tokens));
  return reader.TakeNotes();
}

}  // namespace gp
