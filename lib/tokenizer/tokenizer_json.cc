#include "tokenizer/tokenizer_json.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/text/excerpt.h"
#include "formats/strict_json.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/merges_text.h"
#include "tokenizer/text_pipeline.h"

namespace gp {
namespace {

using formats::ValueOrNull;
using Json = nlohmann::json;

std::string Show(const Json& value) {
  return Excerpt(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Status Refuse(const std::string& key, const Json& value, std::string_view expected) {
  return InvalidArgument("{} is {}: gp supports only {}", key, Show(value), expected);
}

Status CheckModel(const Json& model) {
  if (!model.is_object()) return InvalidArgument("model is missing, or is not an object");
  const Json& type = ValueOrNull(model, "type");
  if (!type.is_null() && type != "BPE") return Refuse("model.type", type, "BPE");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!ValueOrNull(model, key).is_null() && ValueOrNull(model, key) != "") {
      return Refuse(std::string("model.") + key, ValueOrNull(model, key), "null");
    }
  }
  const Json& ignore_merges = ValueOrNull(model, "ignore_merges");
  if (!ignore_merges.is_null() && !ignore_merges.is_boolean()) {
    return Refuse("model.ignore_merges", ignore_merges, "true and false");
  }
  const Json& dropout = ValueOrNull(model, "dropout");
  if (!dropout.is_null() && dropout != 0) return Refuse("model.dropout", dropout, "null");
  return OkStatus();
}

// A token that is empty, or has a character that does not stand for a byte, is added as a special
// token, which no text is encoded to.
Status AddVocabulary(const Json& vocab, const AddedTokens& added,
                     BytePairVocabularyBuilder& builder) {
  std::set<std::string_view> special;
  for (const AddedToken& token : added) special.insert(token.text);
  for (const auto& [text, value] : vocab.items()) {
    if (special.contains(text)) continue;
    ASSIGN_OR_RETURN(const int64_t id, ReadTokenId(value, text));
    const auto bytes = BytesOfAlphabet(text);
    const bool ordinary = bytes && !bytes->empty();
    RETURN_IF_ERROR(ordinary ? builder.AddToken(*bytes, id) : builder.AddUnlisted(text, id));
  }
  for (const AddedToken& token : added) {
    RETURN_IF_ERROR(
        builder.AddSpecial(token.text, *token.id, token.flags.value_or(SpecialTokenFlags())));
  }
  return OkStatus();
}

// A merge is "a b", or ["a", "b"].
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
  if (!merges.is_array()) return InvalidArgument("model.merges is missing, or is not a list");
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

// The token as files write it.
std::string TokenText(const BytePairVocabulary& vocabulary, int32_t id) {
  const std::string& token = vocabulary.tokens[static_cast<size_t>(id)];
  return vocabulary.IsSpecial(id) ? token : InByteAlphabet(token);
}

std::string AddedTokenList(const BytePairVocabulary& vocabulary) {
  std::string list;
  for (const int32_t id : vocabulary.special) {
    if (vocabulary.unlisted.contains(id)) continue;
    const SpecialTokenFlags flags = vocabulary.FlagsOf(id);
    list += fmt::format(R"({}{{"id":{},"content":{},"single_word":{},"lstrip":{},"rstrip":{},)"
                        R"("normalized":false,"special":true}})",
                        list.empty() ? "" : ",", id, Quoted(TokenText(vocabulary, id)),
                        flags.single_word, flags.lstrip, flags.rstrip);
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

StatusOr<BytePairVocabulary> ReadTokenizerJson(const Json& document, const AddedTokens& more) {
  const Json& model = ValueOrNull(document, "model");
  RETURN_IF_ERROR(CheckModel(model));
  RETURN_IF_ERROR(CheckTextPipeline(document));
  const Json& vocab = ValueOrNull(model, "vocab");
  if (!vocab.is_object()) return InvalidArgument("model.vocab is missing, or is not an object");
  ASSIGN_OR_RETURN(AddedTokens added, ReadAddedTokenList(ValueOrNull(document, "added_tokens")));
  RETURN_IF_ERROR(AddTokens(more, added));
  RETURN_IF_ERROR(NumberTokens(vocab, added));
  BytePairVocabularyBuilder builder(static_cast<int64_t>(vocab.size() + added.size()));
  builder.SetWholePieces(ValueOrNull(model, "ignore_merges") == true);
  if (const Status status = AddVocabulary(vocab, added, builder); !status.ok()) {
    return WithContext(status, "model.vocab");
  }
  RETURN_IF_ERROR(AddMerges(ValueOrNull(model, "merges"), builder));
  return builder.Finish();
}

StatusOr<BytePairVocabulary> ReadVocabularyPair(const Json& vocab, std::string_view merges,
                                                const std::string& vocab_name,
                                                const std::string& merges_name, AddedTokens added) {
  RETURN_IF_ERROR(WithContext(NumberTokens(vocab, added), vocab_name));
  BytePairVocabularyBuilder builder(static_cast<int64_t>(vocab.size() + added.size()));
  RETURN_IF_ERROR(WithContext(AddVocabulary(vocab, added, builder), vocab_name));
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

// Writes merges as strings, which every version of Hugging Face's library reads.
std::string FormatTokenizerJson(const BytePairVocabulary& vocabulary,
                                const SpecialTokens* special) {
  const std::string member =
      special == nullptr ? "" : R"("special_tokens":)" + SpecialTokensJson(*special).dump() + ",";
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
      R"({}"vocab":{},"merges":[{}]}}}})",
      AddedTokenList(vocabulary), vocabulary.whole_pieces, member, FormatVocabJson(vocabulary),
      Merges(vocabulary));
}

}  // namespace gp
