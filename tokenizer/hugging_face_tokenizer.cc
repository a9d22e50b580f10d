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

// transformers' GPT2Tokenizer would add <|endoftext|> to a vocabulary without it.
std::string Config(std::optional<std::string> end_of_text) {
  const bool gpt2 = end_of_text == kEndOfText;
  OrderedJson config = {
      {"tokenizer_class", gpt2 ? "GPT2Tokenizer" : "PreTrainedTokenizerFast"},
      {"add_prefix_space", false},
      {"clean_up_tokenization_spaces", false},
  };
  if (end_of_text) {
    for (const char* key : {"bos_token", "eos_token", "unk_token"}) config[key] = *end_of_text;
  }
  return config.dump(2) + "\n";
}

Files BytePairFiles(const BytePairVocabulary& vocabulary) {
  const auto id = vocabulary.EndOfText();
  const auto end_of_text =
      id ? std::optional(vocabulary.tokens[static_cast<size_t>(*id)]) : std::nullopt;
  return {{"tokenizer.json", FormatTokenizerJson(vocabulary) + "\n"},
          {"tokenizer_config.json", Config(end_of_text)},
          {"vocab.json", FormatVocabJson(vocabulary) + "\n"},
          {"merges.txt", kMergesVersion + MergeLines(vocabulary)}};
}

}  // namespace

Files HuggingFaceTokenizerFiles(const Tokenizer& tokenizer) {
  if (const auto* bpe = dynamic_cast<const BytePairTokenizer*>(&tokenizer)) {
    return BytePairFiles(bpe->vocabulary());
  }
  if (const auto* chars = dynamic_cast<const CharTokenizer*>(&tokenizer)) {
    return {{"tokenizer.json", FormatCharacterJson(*chars) + "\n"},
            {"tokenizer_config.json", Config(std::nullopt)}};
  }
  GP_CHECK(tokenizer.kind() == "bytes", "a tokenizer of an unknown kind");
  return BytePairFiles(ByteVocabulary());
}

}  // namespace gp
