#include "tokenizer/files/special_token_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/text/excerpt.h"
#include "formats/strict_json.h"
#include "tokenizer/byte_pair_vocabulary.h"

namespace gp {
namespace {

using formats::ValueOrNull;
using Json = nlohmann::json;
using Token = std::optional<int32_t>;

constexpr int32_t kGpt2EndOfText = 50256;  // bos_token_id and eos_token_id of GPT2Config

class Reader {
 public:
  Reader(const CompanionFiles& files, const Tokenizer& tokenizer)
      : files_(files), tokenizer_(tokenizer), tokens_(tokenizer.special_tokens()) {}

  StatusOr<SpecialTokens> Read() {
    const bool bos_named = Name("bos_token", tokens_.bos);
    const bool eos_named = Name("eos_token", tokens_.eos);
    const bool pad_named = Name("pad_token", tokens_.pad);
    const bool unk_named = Name("unk_token", tokens_.unk);
    if (ValueOrNull(files_.tokenizer_config.json, "split_special_tokens") == true) {
      tokens_.split_in_text = true;
    }
    ASSIGN_OR_RETURN(const Setting eos, WithDefault("eos_token_id"));
    ASSIGN_OR_RETURN(const Setting bos, WithDefault("bos_token_id"));
    ASSIGN_OR_RETURN(const Setting pad, ModelSetting("pad_token_id"));
    SetEos(eos, eos_named);
    SetBos(bos, bos_named);
    if (tokens_.eos_is_guess && !unk_named) tokens_.unk = std::nullopt;
    if (pad.is_null) {
      tokens_.model_pad = std::nullopt;
    } else if (pad_named || !pad.ids.empty()) {
      tokens_.model_pad = pad.ids.empty() ? tokens_.pad : pad.ids[0];
    }
    if (bos_named) Compare("bos", bos.ids, tokens_.bos, "an empty prompt begins with the former");
    if (pad_named) Compare("pad", pad.ids, tokens_.pad, "both are kept");
    if (eos_named) {
      Compare("eos", eos.ids, tokens_.eos,
              "the model ends its texts with the former, and the latter separates documents");
    }
    return tokens_;
  }

  std::vector<std::string> TakeNotes() { return std::move(notes_); }

 private:
  using Ids = std::vector<int32_t>;

  // The value of a key in the model's files.
  struct Setting {
    bool is_null = false;  // null or an empty list: there is no such token
    Ids ids;
  };

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

  // Sets `token` to the one that a file names with `key`. True if a file names it; the name null
  // counts and means that there is no such token.
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
          fmt::format("{} is '{}', which is not a special token of the tokenizer: gp ignores it",
                      key, Excerpt(text.get_ref<const std::string&>())));
    }
    return id.has_value();
  }

  void SetEos(const Setting& eos, bool named) {
    if (!eos.ids.empty()) {
      if (!named) SetEosOfModel(eos.ids);
      tokens_.model_eos = eos.ids;
    } else if (named && !eos.is_null) {
      tokens_.model_eos = AsList(tokens_.eos);
    } else if (eos.is_null || HasModelBesideTokenizer()) {
      tokens_.model_eos.clear();
      if (tokens_.eos) SayThatTextsDoNotEnd(eos, named);
      tokens_.eos_is_guess = !named && HasTokenizerFiles() && tokens_.eos.has_value();
    }
  }

  void SetBos(const Setting& bos, bool named) {
    if (!bos.ids.empty()) {
      tokens_.model_bos = bos.ids[0];
    } else if (named && !bos.is_null) {
      tokens_.model_bos = tokens_.bos;
    } else if (bos.is_null || HasModelBesideTokenizer()) {
      tokens_.model_bos = std::nullopt;
      if (!named && HasTokenizerFiles()) tokens_.bos = std::nullopt;
    }
  }

  // Takes the model's token for a tokenizer that does not name its own.
  void SetEosOfModel(const Ids& ids) {
    const auto special =
        std::find_if(ids.begin(), ids.end(), [&](int32_t id) { return IsSpecial(id); });
    const bool ends_text =
        tokens_.eos && std::find(ids.begin(), ids.end(), *tokens_.eos) != ids.end();
    if (special != ids.end() && !ends_text) tokens_.eos = *special;
  }

  void SayThatTextsDoNotEnd(const Setting& eos, bool named) {
    notes_.push_back(fmt::format(
        "the model's eos_token_id is {}, {}: generated texts do not end at it; it only separates "
        "documents",
        eos.is_null ? "null" : "not known",
        named ? fmt::format("the tokenizer's eos_token {}", Shown(*tokens_.eos))
              : fmt::format("and {} is recognised only by its spelling", Shown(*tokens_.eos))));
  }

  // False: the tokenizer was read before, and these are only the files of a model.
  bool HasTokenizerFiles() const { return !files_.tokenizer_config.path.empty(); }

  bool HasModel() const {
    return !files_.model_config.json.empty() || !files_.generation_config.json.empty();
  }
  bool HasModelBesideTokenizer() const { return HasTokenizerFiles() && HasModel(); }

  // If no file has the key, the default of GPT2Config applies, but only if the vocabulary has
  // <|endoftext|> at that id.
  StatusOr<Setting> WithDefault(const char* key) {
    ASSIGN_OR_RETURN(Setting setting, ModelSetting(key));
    const bool missing =
        !files_.model_config.json.contains(key) && !files_.generation_config.json.contains(key);
    if (missing && HasModel() && IdOf(kEndOfText) == kGpt2EndOfText) setting.ids = {kGpt2EndOfText};
    return setting;
  }

  // The value in generation_config.json, or else in config.json.
  StatusOr<Setting> ModelSetting(const char* key) {
    ASSIGN_OR_RETURN(const Setting general, SettingIn(files_.model_config, key));
    ASSIGN_OR_RETURN(const Setting generation, SettingIn(files_.generation_config, key));
    const bool both = IsSet(general) && IsSet(generation);
    if (both && (generation.ids != general.ids || generation.is_null != general.is_null)) {
      notes_.push_back(fmt::format(
          "{} is {} in config.json and {} in generation_config.json, which takes precedence", key,
          ValueOrNull(files_.model_config.json, key).dump(),
          ValueOrNull(files_.generation_config.json, key).dump()));
    }
    return IsSet(generation) ? generation : general;
  }

  static bool IsSet(const Setting& setting) { return setting.is_null || !setting.ids.empty(); }

  // The value of the key in one file, without ids that the tokenizer lacks.
  StatusOr<Setting> SettingIn(const CompanionFile& file, const char* key) {
    Setting setting;
    const Json& value = ValueOrNull(file.json, key);
    setting.is_null = file.json.contains(key) && (value.is_null() || value == Json::array());
    if (value.is_null()) return setting;
    const Json list = value.is_array() ? value : Json::array({value});
    for (const Json& id : list) {
      if (!id.is_number_integer()) {
        return InvalidArgument("{}: {} is {}, expected an id or a list of ids", file.path, key,
                               Excerpt(value.dump(-1, ' ', false, Json::error_handler_t::replace)));
      }
      if (id < 0 || id >= tokenizer_.vocabulary_size()) {
        notes_.push_back(
            fmt::format("{}: {} names the id {}, but the tokenizer has {} ids: gp ignores it",
                        BaseNameOf(file.path), key, id.dump(), tokenizer_.vocabulary_size()));
      } else {
        setting.ids.push_back(id.get<int32_t>());
      }
    }
    return setting;
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

StatusOr<std::vector<std::string>> ApplySpecialTokens(const CompanionFiles& files,
                                                      Tokenizer& tokenizer) {
  Reader reader(files, tokenizer);
  ASSIGN_OR_RETURN(SpecialTokens tokens, reader.Read());
  tokenizer.set_special_tokens(std::move(tokens));
  return reader.TakeNotes();
}

}  // namespace gp
