#include "tokenizer/files/companion_files.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/text/excerpt.h"
#include "formats/strict_json.h"
#include "tokenizer/json_file.h"

namespace gp {
namespace {

using formats::ValueOrNull;
using Json = nlohmann::json;

// transformers' SPECIAL_TOKENS_ATTRIBUTES, in its numbering order; then its lists of further ones.
constexpr const char* kNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                  "pad_token", "cls_token", "mask_token"};
constexpr const char* kNameLists[] = {"additional_special_tokens", "extra_special_tokens"};

// Classes that cut text as GPT-2 does and add nothing.
constexpr std::string_view kKnownClasses[] = {"GPT2Tokenizer", "GPT2TokenizerFast",
                                              "PreTrainedTokenizerFast", "TokenizersBackend"};
// These classes also use a tokenizer.json unchanged. Others build their own normalizer, pattern and
// template around its vocabulary, ignoring the rest of the file.
constexpr std::string_view kClassesThatKeepTokenizerJson[] = {"CodeGenTokenizer",
                                                              "CodeGenTokenizerFast"};

// model_types for which transformers 5 takes GPT2Tokenizer if no file names a class.
constexpr std::string_view kGpt2Types[] = {
    "blip-2",       "codegen",           "dbrx",  "emu3", "gpt2", "gpt_neo",   "gptj",
    "instructblip", "instructblipvideo", "jais2", "opt",  "phi",  "starcoder2"};
// model_types for which it takes another class with byte-level BPE, which adds tokens or cuts text
// in its own way. (gp does not read tokenizers of other kinds at all.)
constexpr std::string_view kTypesWithOtherClasses[] = {"aimv2",
                                                       "aya_vision",
                                                       "bart",
                                                       "blenderbot",
                                                       "bridgetower",
                                                       "clap",
                                                       "clip",
                                                       "clipseg",
                                                       "cohere",
                                                       "cohere2",
                                                       "colqwen2",
                                                       "cosmos3_omni",
                                                       "data2vec-text",
                                                       "deberta",
                                                       "falcon_mamba",
                                                       "florence2",
                                                       "fun_asr_nano",
                                                       "gpt_neox",
                                                       "gpt_neox_japanese",
                                                       "groupvit",
                                                       "hunyuan_vl",
                                                       "ibert",
                                                       "internvl",
                                                       "layoutlmv3",
                                                       "led",
                                                       "lilt",
                                                       "longformer",
                                                       "luke",
                                                       "mamba",
                                                       "mamba2",
                                                       "markuplm",
                                                       "mega",
                                                       "mpt",
                                                       "mra",
                                                       "mvp",
                                                       "olmo",
                                                       "olmoe",
                                                       "omdet-turbo",
                                                       "oneformer",
                                                       "ovis2",
                                                       "owlv2",
                                                       "owlvit",
                                                       "qianfan_ocr",
                                                       "qwen2",
                                                       "qwen2_5_omni",
                                                       "qwen2_5_vl",
                                                       "qwen2_audio",
                                                       "qwen2_moe",
                                                       "qwen2_vl",
                                                       "qwen3",
                                                       "qwen3_5",
                                                       "qwen3_5_moe",
                                                       "qwen3_5_moe_text",
                                                       "qwen3_5_text",
                                                       "qwen3_asr",
                                                       "qwen3_moe",
                                                       "qwen3_next",
                                                       "qwen3_omni_moe",
                                                       "qwen3_vl",
                                                       "qwen3_vl_moe",
                                                       "roberta",
                                                       "roberta-prelayernorm",
                                                       "rwkv",
                                                       "sam3",
                                                       "sam3_video",
                                                       "whisper",
                                                       "xclip",
                                                       "xlstm"};

StatusOr<CompanionFile> ReadCompanion(const std::string& path) {
  if (!FileExists(path)) return CompanionFile{.path = path};
  ASSIGN_OR_RETURN(Json json, ReadJsonFile(path));
  return CompanionFile{path, std::move(json)};
}

void SortById(AddedTokens& tokens) {
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
}

StatusOr<AddedToken> ReadTokenAt(const Json& token, const std::string& where) {
  auto read = ReadAddedToken(token);
  if (!read.ok()) return WithContext(read.status(), where);
  read->where = where;
  return read;
}

// Adds the tokens of added_tokens.json: {"<pad>": 500, …}. transformers treats <|endoftext|> as
// special by default.
Status AddIds(const Json& ids, const std::string& file, AddedTokens& tokens) {
  AddedTokens listed;
  for (const auto& [text, value] : ids.items()) {
    const auto id = ReadTokenId(value, text);
    if (!id.ok()) return WithContext(id.status(), file);
    if (text.empty()) return InvalidArgument("{}: the token with the id {} is empty", file, *id);
    AddedToken token;
    token.text = text;
    token.id = *id;
    token.special = text == kEndOfText;
    token.where = file;
    listed.push_back(std::move(token));
  }
  return AddTokens(listed, tokens);
}

StatusOr<int64_t> IdOfKey(const std::string& key, const std::string& where) {
  int64_t id = 0;
  const char* end = key.data() + key.size();
  const auto [parsed, error] = std::from_chars(key.data(), end, id);
  if (error == std::errc() && parsed == end && id >= 0) return id;
  return InvalidArgument("{}: expected an id, in digits", where);
}

// Adds the tokens of added_tokens_decoder: {"500": {"content": "<pad>", …}, …}.
Status AddDecoder(const Json& decoder, const std::string& where, AddedTokens& tokens) {
  if (decoder.is_null()) return OkStatus();
  if (!decoder.is_object()) return InvalidArgument("{} is not an object", where);
  AddedTokens listed;
  for (const auto& [key, value] : decoder.items()) {
    const std::string place = fmt::format("{}['{}']", where, Excerpt(key));
    ASSIGN_OR_RETURN(AddedToken token, ReadTokenAt(value, place));
    ASSIGN_OR_RETURN(token.id, IdOfKey(key, place));
    token.overrides_flags = true;
    listed.push_back(std::move(token));
  }
  return AddTokens(listed, tokens);
}

// `name` is the token's text, or the token with its flags. Empty or null: no token.
Status AddName(const Json& name, const std::string& where, AddedTokens& names) {
  if (name.is_null() || name == "") return OkStatus();
  AddedToken token{.where = where};
  if (name.is_string()) {
    token.text = name.get<std::string>();
  } else {
    ASSIGN_OR_RETURN(token, ReadTokenAt(name, where));
  }
  token.special = true;
  names.push_back(std::move(token));
  return OkStatus();
}

// Some versions of transformers write a list, later ones an object.
Status AddNameList(const Json& list, const std::string& where, AddedTokens& names) {
  if (list.is_null()) return OkStatus();
  if (!list.is_array() && !list.is_object()) return InvalidArgument("{} is not a list", where);
  for (const Json& name : list) RETURN_IF_ERROR(AddName(name, where, names));
  return OkStatus();
}

// `map` overrides `config`, as in transformers.
StatusOr<AddedTokens> ReadNames(const CompanionFile& map, const CompanionFile& config) {
  const auto file_of = [&](const char* key) -> const CompanionFile& {
    return ValueOrNull(map.json, key).is_null() ? config : map;
  };
  AddedTokens names;
  for (const char* key : kNames) {
    const auto& [path, json] = file_of(key);
    RETURN_IF_ERROR(AddName(ValueOrNull(json, key), fmt::format("{}: {}", path, key), names));
  }
  for (const char* key : kNameLists) {
    const auto& [path, json] = file_of(key);
    RETURN_IF_ERROR(AddNameList(ValueOrNull(json, key), fmt::format("{}: {}", path, key), names));
  }
  return names;
}

template <size_t kCount>
bool Names(const std::string_view (&names)[kCount], const Json& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Status RefuseFlag(const Json& config, const char* key, std::string_view way) {
  if (ValueOrNull(config, key) != true) return OkStatus();
  return InvalidArgument("{} is true: gp adds nothing to a text; {}", key, way);
}

std::string Shown(const Json& name) {
  return Excerpt(name.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Checks model_type in the model's config.json, which decides if tokenizer_config.json names no
// class.
Status CheckModelType(const CompanionFile& model) {
  const Json& type = ValueOrNull(model.json, "model_type");
  if (!Names(kTypesWithOtherClasses, type)) return OkStatus();
  return InvalidArgument(
      "{}: model_type is {}, and tokenizer_config.json names no tokenizer_class: transformers "
      "takes "
      "that model's class, which may split text differently or add tokens; if the tokenizer's "
      "files "
      "are right, write {{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}} into "
      "tokenizer_config.json",
      model.path, Shown(type));
}

Status CheckClass(const CompanionFiles& files, CompanionOf kind) {
  const bool by_tokenizer = !ValueOrNull(files.tokenizer_config.json, "tokenizer_class").is_null();
  const CompanionFile& file = by_tokenizer ? files.tokenizer_config : files.model_config;
  const Json& name = ValueOrNull(file.json, "tokenizer_class");
  if (name.is_null()) return CheckModelType(files.model_config);
  if (Names(kKnownClasses, name)) return OkStatus();
  if (kind == CompanionOf::kVocabulary) {
    return InvalidArgument(
        "{}: tokenizer_class is {}, expected GPT2Tokenizer: another class may split text "
        "differently, or add tokens; have transformers save the tokenizer as tokenizer.json, which "
        "says what it does",
        file.path, Shown(name));
  }
  if (Names(kClassesThatKeepTokenizerJson, name)) return OkStatus();
  return InvalidArgument(
      "{}: tokenizer_class is {}, expected GPT2Tokenizer or PreTrainedTokenizerFast: transformers "
      "may ignore tokenizer.json and split text as that class does; if tokenizer.json is right, "
      "set "
      "tokenizer_class to PreTrainedTokenizerFast",
      file.path, Shown(name));
}

bool IsGpt2Class(const CompanionFiles& files) {
  for (const CompanionFile* file : {&files.tokenizer_config, &files.model_config}) {
    const Json& name = ValueOrNull(file->json, "tokenizer_class");
    if (!name.is_null()) return name == "GPT2Tokenizer" || name == "GPT2TokenizerFast";
  }
  return Names(kGpt2Types, ValueOrNull(files.model_config.json, "model_type"));
}

bool IsNamed(const CompanionFiles& files, const char* key) {
  return !ValueOrNull(files.special_tokens_map.json, key).is_null() ||
         !ValueOrNull(files.tokenizer_config.json, key).is_null();
}

// GPT2Tokenizer uses <|endoftext|> for each of bos, eos and unk that is not named, and adds it to a
// vocabulary without it. The model must have a row for it.
std::optional<AddedToken> EndOfTextOfClass(const CompanionFiles& files) {
  if (!IsGpt2Class(files)) return std::nullopt;
  const Json& rows = ValueOrNull(files.model_config.json, "vocab_size");
  const bool all_named =
      IsNamed(files, "bos_token") && IsNamed(files, "eos_token") && IsNamed(files, "unk_token");
  if (all_named || !rows.is_number_unsigned()) return std::nullopt;
  AddedToken token;
  token.text = kEndOfText;
  token.special = true;
  token.added_below = rows.get<int64_t>();
  token.where = "tokenizer_class";
  return token;
}

// With a tokenizer.json, add_bos_token and add_eos_token do not matter: that file itself defines
// which tokens are added to a text.
Status CheckConfig(const CompanionFiles& files, CompanionOf kind) {
  const Json& config = files.tokenizer_config.json;
  const auto check_flag = [&](const char* key, std::string_view way) {
    return WithContext(RefuseFlag(config, key, way), files.tokenizer_config.path);
  };
  RETURN_IF_ERROR(check_flag("add_prefix_space",
                             "set it to false, and begin texts with a space where the model "
                             "expects one"));
  RETURN_IF_ERROR(CheckClass(files, kind));
  if (kind == CompanionOf::kTokenizerJson) return OkStatus();
  for (const char* key : {"add_bos_token", "add_eos_token"}) {
    RETURN_IF_ERROR(check_flag(key,
                               "set it to false: gp puts the end of text between documents "
                               "itself"));
  }
  return OkStatus();
}

}  // namespace

StatusOr<CompanionFiles> ReadCompanionFiles(const std::string& stem) {
  CompanionFiles files;
  ASSIGN_OR_RETURN(files.added_tokens, ReadCompanion(stem + "added_tokens.json"));
  ASSIGN_OR_RETURN(files.tokenizer_config, ReadCompanion(stem + "tokenizer_config.json"));
  ASSIGN_OR_RETURN(files.special_tokens_map, ReadCompanion(stem + "special_tokens_map.json"));
  ASSIGN_OR_RETURN(files.model_config, ReadCompanion(stem + "config.json"));
  ASSIGN_OR_RETURN(files.generation_config, ReadCompanion(stem + "generation_config.json"));
  return files;
}

StatusOr<AddedTokens> TokensIn(const CompanionFiles& files, CompanionOf kind) {
  const auto& [added, config, map, model, generation] = files;
  RETURN_IF_ERROR(CheckConfig(files, kind));
  AddedTokens tokens;
  RETURN_IF_ERROR(AddDecoder(ValueOrNull(config.json, "added_tokens_decoder"),
                             config.path + ": added_tokens_decoder", tokens));
  RETURN_IF_ERROR(AddIds(added.json, added.path, tokens));
  SortById(tokens);
  ASSIGN_OR_RETURN(const AddedTokens names, ReadNames(map, config));
  RETURN_IF_ERROR(AddTokens(names, tokens));
  if (const auto end = EndOfTextOfClass(files)) {
    const bool known = std::any_of(tokens.begin(), tokens.end(), [](const AddedToken& token) {
      return token.text == kEndOfText;
    });
    if (!known) tokens.push_back(*end);
  }
  // Removes the directory: later messages begin with the path of the tokenizer's file in the same
  // directory.
  const size_t directory = config.path.rfind('/') + 1;
  for (AddedToken& token : tokens) token.where.erase(0, directory);
  return tokens;
}

}  // namespace gp
