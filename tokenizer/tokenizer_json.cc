#include "tokenizer/tokenizer_json.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/excerpt.h"
#include "formats/strict_json.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/merges_text.h"

namespace gp {
namespace {

using formats::ValueOrNull;
using Json = nlohmann::json;

std::string Show(const Json& value) {
  return Excerpt(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Status Refuse(const std::string& key, const Json& value, std::string_view expected) {
  return InvalidArgument("{} is {}: gp knows only {}", key, Show(value), expected);
}

// The parts of a pipeline: {"type": "Sequence", KEY: [...]} has several.
std::vector<Json> PartsOf(const Json& step, const char* list_key) {
  if (step.is_null()) return {};
  const bool sequence = step.is_object() && ValueOrNull(step, "type") == "Sequence";
  const Json& list = sequence ? ValueOrNull(step, list_key) : step;
  if (sequence && list.is_array()) return {list.begin(), list.end()};
  return {step};
}

bool IsByteLevel(const Json& step) {
  return step.is_object() && ValueOrNull(step, "type") == "ByteLevel";
}

// What Hugging Face does to text before the model sees it must be what gp does.
Status CheckPreTokenizer(const Json& document) {
  constexpr char kExpected[] =
      "ByteLevel with add_prefix_space false and use_regex true, GPT-2's way to cut text";
  const auto parts = PartsOf(ValueOrNull(document, "pre_tokenizer"), "pretokenizers");
  if (parts.size() != 1 || !IsByteLevel(parts[0])) {
    return Refuse("pre_tokenizer", ValueOrNull(document, "pre_tokenizer"), kExpected);
  }
  if (ValueOrNull(parts[0], "add_prefix_space") != false) {
    return Refuse("pre_tokenizer.add_prefix_space", ValueOrNull(parts[0], "add_prefix_space"),
                  kExpected);
  }
  const Json& use_regex = ValueOrNull(parts[0], "use_regex");
  if (use_regex.is_null() || use_regex == true) return OkStatus();
  return Refuse("pre_tokenizer.use_regex", use_regex, kExpected);
}

Status CheckAfterwards(const Json& document) {
  for (const Json& part : PartsOf(ValueOrNull(document, "post_processor"), "processors")) {
    if (!IsByteLevel(part)) {
      return Refuse("post_processor", part, "ByteLevel or null: it adds no tokens of its own");
    }
  }
  const auto decoders = PartsOf(ValueOrNull(document, "decoder"), "decoders");
  if (decoders.size() == 1 && IsByteLevel(decoders[0])) return OkStatus();
  return Refuse("decoder", ValueOrNull(document, "decoder"), "ByteLevel");
}

Status CheckPipeline(const Json& document) {
  for (const char* key : {"normalizer", "truncation", "padding"}) {
    if (!ValueOrNull(document, key).is_null()) {
      return Refuse(key, ValueOrNull(document, key), "null: it would change the ids of a text");
    }
  }
  RETURN_IF_ERROR(CheckPreTokenizer(document));
  return CheckAfterwards(document);
}

Status CheckModel(const Json& model) {
  if (!model.is_object()) return InvalidArgument("model is missing, or is no object");
  const Json& type = ValueOrNull(model, "type");
  if (!type.is_null() && type != "BPE") return Refuse("model.type", type, "BPE");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!ValueOrNull(model, key).is_null() && ValueOrNull(model, key) != "") {
      return Refuse(std::string("model.") + key, ValueOrNull(model, key), "null");
    }
  }
  const Json& dropout = ValueOrNull(model, "dropout");
  if (!dropout.is_null() && dropout != 0) return Refuse("model.dropout", dropout, "null");
  const Json& fallback = ValueOrNull(model, "byte_fallback");
  if (!fallback.is_null() && fallback != false) {
    return Refuse("model.byte_fallback", fallback, "false");
  }
  return OkStatus();
}

StatusOr<int64_t> IdOf(const Json& value, std::string_view token) {
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() <= BytePairVocabularyBuilder::kTokensMax) {
    return value.get<int64_t>();
  }
  return InvalidArgument("the id of '{}' is {}, expected a whole number of at most {}",
                         Excerpt(token), Show(value), BytePairVocabularyBuilder::kTokensMax);
}

// Ids by text of the tokens that Hugging Face looks for before all else.
using SpecialTokens = std::map<std::string, int64_t>;

Status ReadSpecialToken(const Json& token, SpecialTokens& special) {
  if (!token.is_object()) return InvalidArgument("is no object");
  const Json& content = ValueOrNull(token, "content");
  if (!content.is_string() || content.get_ref<const std::string&>().empty()) {
    return InvalidArgument("content is {}, expected the token's text", Show(content));
  }
  const auto& text = content.get_ref<const std::string&>();
  if (ValueOrNull(token, "special") != true) {
    return InvalidArgument(
        "'{}' is not special: Hugging Face would find it in any text, and gp would not",
        Excerpt(text));
  }
  ASSIGN_OR_RETURN(const int64_t id, IdOf(ValueOrNull(token, "id"), text));
  if (special.emplace(text, id).second) return OkStatus();
  return InvalidArgument("'{}' is there twice", Excerpt(text));
}

// Those that model.vocab lacks follow it, in the order of the list: so Hugging Face numbers them.
Status CheckNumbering(const Json& list, const Json& vocab) {
  auto next = static_cast<int64_t>(vocab.size());
  for (const Json& token : list) {
    const auto found = vocab.find(token["content"].get_ref<const std::string&>());
    const int64_t expected =
        found != vocab.end() && found->is_number_integer() ? found->get<int64_t>() : next++;
    if (token["id"] == expected) continue;
    return InvalidArgument("added_tokens: '{}' has the id {}, expected {}",
                           Excerpt(token["content"].get_ref<const std::string&>()),
                           token["id"].get<int64_t>(), expected);
  }
  return OkStatus();
}

StatusOr<SpecialTokens> ReadSpecialTokens(const Json& document, const Json& vocab) {
  SpecialTokens special;
  const Json& list = ValueOrNull(document, "added_tokens");
  if (list.is_null()) return special;
  if (!list.is_array()) return InvalidArgument("added_tokens is no list");
  for (size_t i = 0; i < list.size(); ++i) {
    const Status status = ReadSpecialToken(list[i], special);
    if (!status.ok()) return WithContext(status, fmt::format("added_tokens[{}]", i));
  }
  RETURN_IF_ERROR(CheckNumbering(list, vocab));
  return special;
}

// What is written in characters of no byte can only be a token that text never becomes.
Status AddVocabulary(const Json& vocab, const SpecialTokens& special,
                     BytePairVocabularyBuilder& builder) {
  for (const auto& [text, value] : vocab.items()) {
    if (special.contains(text)) continue;
    ASSIGN_OR_RETURN(const int64_t id, IdOf(value, text));
    const auto bytes = BytesOfAlphabet(text);
    RETURN_IF_ERROR(bytes ? builder.AddToken(*bytes, id) : builder.AddSpecial(text, id));
  }
  for (const auto& [text, id] : special) RETURN_IF_ERROR(builder.AddSpecial(text, id));
  return OkStatus();
}

// "a b", or ["a", "b"].
Status AddMerge(const Json& merge, BytePairVocabularyBuilder& builder) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return builder.AddMerge(merge[0].get_ref<const std::string&>(),
                            merge[1].get_ref<const std::string&>());
  }
  const std::string_view text =
      merge.is_string() ? merge.get_ref<const std::string&>() : std::string_view();
  const size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
    return InvalidArgument("is not two tokens");
  }
  return builder.AddMerge(text.substr(0, space), text.substr(space + 1));
}

Status AddMerges(const Json& merges, BytePairVocabularyBuilder& builder) {
  if (!merges.is_array()) return InvalidArgument("model.merges is missing, or is no list");
  for (size_t i = 0; i < merges.size(); ++i) {
    const Status status = AddMerge(merges[i], builder);
    if (status.ok()) continue;
    return InvalidArgument("model.merges[{}]: the merge {} {}", i, Show(merges[i]),
                           Message(status));
  }
  return OkStatus();
}

std::string Quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// As files write it.
std::string TokenText(const BytePairVocabulary& vocabulary, int32_t id) {
  const std::string& token = vocabulary.tokens[static_cast<size_t>(id)];
  return vocabulary.IsSpecial(id) ? token : InByteAlphabet(token);
}

std::string AddedTokens(const BytePairVocabulary& vocabulary) {
  std::string list;
  for (const int32_t id : vocabulary.special) {
    list +=
        fmt::format(R"({}{{"id":{},"content":{},"single_word":false,"lstrip":false,"rstrip":false,)"
                    R"("normalized":false,"special":true}})",
                    list.empty() ? "" : ",", id, Quoted(TokenText(vocabulary, id)));
  }
  return list;
}

std::string Merges(const BytePairVocabulary& vocabulary) {
  std::string list;
  for (const BytePairMerge& merge : vocabulary.merges) {
    if (!list.empty()) list += ",";
    list += Quoted(TokenText(vocabulary, merge.left) + " " + TokenText(vocabulary, merge.right));
  }
  return list;
}

}  // namespace

StatusOr<BytePairVocabulary> ReadTokenizerJson(const Json& document) {
  const Json& model = ValueOrNull(document, "model");
  RETURN_IF_ERROR(CheckModel(model));
  RETURN_IF_ERROR(CheckPipeline(document));
  const Json& vocab = ValueOrNull(model, "vocab");
  if (!vocab.is_object()) return InvalidArgument("model.vocab is missing, or is no object");
  ASSIGN_OR_RETURN(const SpecialTokens special, ReadSpecialTokens(document, vocab));
  BytePairVocabularyBuilder builder(static_cast<int64_t>(vocab.size() + special.size()));
  builder.SetWholePieces(ValueOrNull(model, "ignore_merges") == true);
  if (const Status status = AddVocabulary(vocab, special, builder); !status.ok()) {
    return WithContext(status, "model.vocab");
  }
  RETURN_IF_ERROR(AddMerges(ValueOrNull(model, "merges"), builder));
  return builder.Finish();
}

StatusOr<BytePairVocabulary> ReadVocabularyPair(const Json& vocab, std::string_view merges,
                                                const std::string& vocab_name,
                                                const std::string& merges_name) {
  BytePairVocabularyBuilder builder(static_cast<int64_t>(vocab.size()));
  if (const Status status = AddVocabulary(vocab, {}, builder); !status.ok()) {
    return WithContext(status, vocab_name);
  }
  if (const Status status = AddMergeLines(merges, builder); !status.ok()) {
    return WithContext(status, merges_name);
  }
  auto vocabulary = builder.Finish();
  if (!vocabulary.ok()) return WithContext(vocabulary.status(), vocab_name);
  return vocabulary;
}

std::string FormatVocabJson(const BytePairVocabulary& vocabulary) {
  std::string text;
  for (int32_t id = 0; id < std::ssize(vocabulary.tokens); ++id) {
    text += fmt::format("{}{}:{}", text.empty() ? "{" : ",", Quoted(TokenText(vocabulary, id)), id);
  }
  return text + "}";
}

// merges as text: what every version of Hugging Face's library reads.
std::string FormatTokenizerJson(const BytePairVocabulary& vocabulary) {
  return fmt::format(
      R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{}],)"
      R"("normalizer":null,)"
      R"("pre_tokenizer":{{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,)"
      R"("use_regex":true}},)"
      R"("post_processor":{{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,)"
      R"("use_regex":true}},)"
      R"("decoder":{{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,)"
      R"("use_regex":true}},)"
      R"("model":{{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":"",)"
      R"("end_of_word_suffix":"","fuse_unk":false,"byte_fallback":false,"ignore_merges":{},)"
      R"("vocab":{},"merges":[{}]}}}})",
      AddedTokens(vocabulary), vocabulary.whole_pieces, FormatVocabJson(vocabulary),
      Merges(vocabulary));
}

}  // namespace gp
