#include "tokenizer/files/hugging_face_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
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

// The class PreTrainedTokenizerFast takes everything from tokenizer.json.
OrderedJson Config(bool gpt2_class) {
  return {
      {"tokenizer_class", gpt2_class ? "GPT2Tokenizer" : "PreTrainedTokenizerFast"},
      {"add_prefix_space", false},
      {"clean_up_tokenization_spaces", false},
  };
}

bool IsListed(const BytePairVocabulary& vocabulary, int32_t id) {
  return vocabulary.IsSpecial(id) && !vocabulary.unlisted.contains(id);
}

// {"bos_token": "<|BOS|>", …}. transformers searches text for a token once it is named, so only
// tokens that it searches for anyway may be named.
OrderedJson Names(const BytePairVocabulary& vocabulary, const SpecialTokens& special) {
  OrderedJson names = OrderedJson::object();
  const auto add = [&](const char* key, std::optional<int32_t> id) {
    if (id && IsListed(vocabulary, *id)) names[key] = vocabulary.tokens[static_cast<size_t>(*id)];
  };
  add("bos_token", special.bos);
  if (!special.eos_is_guess) add("eos_token", special.eos);
  add("pad_token", special.pad);
  add("unk_token", special.unk);
  return names;
}

// The special tokens of vocab.json, for readers that ignore tokenizer.json.
OrderedJson AddedTokensDecoder(const BytePairVocabulary& vocabulary) {
  OrderedJson decoder = OrderedJson::object();
  for (const int32_t id : vocabulary.special) {
    if (!IsListed(vocabulary, id)) continue;
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

bool HasEndOfText(const BytePairVocabulary& vocabulary) {
  return std::any_of(vocabulary.special.begin(), vocabulary.special.end(), [&](int32_t id) {
    return vocabulary.tokens[static_cast<size_t>(id)] == kEndOfText;
  });
}

std::string Text(const OrderedJson& json) {
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

// transformers' GPT2Tokenizer builds its BPE from the vocabulary and the merges only, would add
// <|endoftext|> to a vocabulary without it, and uses it as the eos_token unless one is named.
// Neither GPT2Tokenizer nor the files vocab.json and merges.txt can express that pieces are tokens
// without merges.
Files BytePairFiles(const BytePairTokenizer& tokenizer) {
  const BytePairVocabulary& vocabulary = tokenizer.vocabulary();
  const bool merges_tell_all = !tokenizer.token_without_merges();
  const SpecialTokens& special = tokenizer.special_tokens();
  const bool gpt2_class = merges_tell_all && HasEndOfText(vocabulary) && !special.eos_is_guess;
  OrderedJson config = Config(gpt2_class);
  const OrderedJson names = Names(vocabulary, special);
  if (!vocabulary.special.empty()) {
    // Writes null for a purpose that has no token: if the key were missing, the purpose would be
    // guessed from the spelling of the tokens.
    for (const char* key : {"bos_token", "eos_token", "pad_token", "unk_token"}) {
      if (special.eos_is_guess && key == std::string_view("eos_token")) continue;
      config[key] = names.value(key, OrderedJson());
    }
  }
  if (special.split_in_text) config["split_special_tokens"] = true;
  if (const OrderedJson decoder = AddedTokensDecoder(vocabulary); !decoder.empty()) {
    config["added_tokens_decoder"] = decoder;
  }
  Files files = {{"tokenizer.json", FormatTokenizerJson(vocabulary) + "\n"},
                 {"tokenizer_config.json", Text(config)}};
  if (!names.empty()) files.emplace("special_tokens_map.json", Text(names));
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
            {"tokenizer_config.json", Text(Config(false))}};
  }
  GP_CHECK(tokenizer.kind() == "bytes", "a tokenizer of an unknown kind");
  return BytePairFiles(BytePairTokenizer(ByteVocabulary()));
}

}  // namespace gp
