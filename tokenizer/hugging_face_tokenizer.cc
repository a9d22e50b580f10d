#include "tokenizer/hugging_face_tokenizer.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/character_json.h"
#include "tokenizer/merges_text.h"
#include "tokenizer/tokenizer_json.h"

namespace gp {
namespace {

using Files = std::map<std::string, std::string>;
using OrderedJson = nlohmann::ordered_json;

// The bytes kind: each byte is a token, and its value is the id.
BytePairVocabulary ByteVocabulary() {
  BytePairVocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  return vocabulary;
}

// PreTrainedTokenizerFast does what tokenizer.json says.
OrderedJson Config(bool gpt2_class, const std::optional<std::string>& end_of_text) {
  OrderedJson config = {
      {"tokenizer_class", gpt2_class ? "GPT2Tokenizer" : "PreTrainedTokenizerFast"},
      {"add_prefix_space", false},
      {"clean_up_tokenization_spaces", false},
  };
  if (end_of_text) {
    for (const char* key : {"bos_token", "eos_token", "unk_token"}) config[key] = *end_of_text;
  }
  return config;
}

// Which tokens of vocab.json are special, for readers that pass tokenizer.json over.
OrderedJson AddedTokensDecoder(const BytePairVocabulary& vocabulary) {
  OrderedJson decoder = OrderedJson::object();
  for (const int32_t id : vocabulary.special) {
    if (vocabulary.unlisted.contains(id)) continue;
    const SpecialTokenFlags flags = vocabulary.FlagsOf(id);
    decoder[std::to_string(id)] = {{"content", vocabulary.tokens[static_cast<size_t>(id)]},
                                   {"lstrip", flags.lstrip},
                                   {"normalized", false},
                                   {"rstrip", flags.rstrip},
                                   {"single_word", flags.single_word},
                                   {"special", true}};
  }
  return decoder;
}

std::string Text(const OrderedJson& json) {
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

// transformers' GPT2Tokenizer makes its BPE of the vocabulary and the merges alone, and would add
// <|endoftext|> to a vocabulary without it. Neither it nor the files vocab.json and merges.txt can
// tell that pieces are tokens without merges.
Files BytePairFiles(const BytePairTokenizer& tokenizer) {
  const BytePairVocabulary& vocabulary = tokenizer.vocabulary();
  const auto id = vocabulary.EndOfText();
  const auto end_of_text =
      id ? std::optional(vocabulary.tokens[static_cast<size_t>(*id)]) : std::nullopt;
  const bool merges_tell_all = !tokenizer.token_without_merges();
  OrderedJson config = Config(merges_tell_all && end_of_text == kEndOfText, end_of_text);
  if (const OrderedJson decoder = AddedTokensDecoder(vocabulary); !decoder.empty()) {
    config["added_tokens_decoder"] = decoder;
  }
  Files files = {{"tokenizer.json", FormatTokenizerJson(vocabulary) + "\n"},
                 {"tokenizer_config.json", Text(config)}};
  if (!merges_tell_all) return files;
  files.emplace("vocab.json", FormatVocabJson(vocabulary) + "\n");
  files.emplace("merges.txt", kMergesVersion + MergeLines(vocabulary));
  return files;
}

}  // namespace

Files HuggingFaceTokenizerFiles(const Tokenizer& tokenizer) {
  if (const auto* bpe = dynamic_cast<const BytePairTokenizer*>(&tokenizer)) {
    return BytePairFiles(*bpe);
  }
  if (const auto* chars = dynamic_cast<const CharTokenizer*>(&tokenizer)) {
    return {{"tokenizer.json", FormatCharacterJson(*chars) + "\n"},
            {"tokenizer_config.json", Text(Config(false, std::nullopt))}};
  }
  GP_CHECK(tokenizer.kind() == "bytes", "a tokenizer of an unknown kind");
  return BytePairFiles(BytePairTokenizer(ByteVocabulary()));
}

}  // namespace gp
