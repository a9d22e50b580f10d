// An untrusted tokenizer.json, or a vocab.json with its merges.txt. The first byte selects the role
// of the rest: the whole file; the special tokens, the tokens after the 256 bytes, or the merges in
// an otherwise valid file; the merges.txt for a valid vocab.json; or all files beside a valid
// tokenizer.json.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "formats/strict_json.h"
#include "fuzz/tokenizer_promises.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/files/companion_files.h"
#include "tokenizer/files/special_token_files.h"
#include "tokenizer/tokenizer_json.h"

namespace {

using namespace gp;

// The byte tokens as JSON: "!":0,"\"":1, and so on.
std::string ByteTokens() {
  std::string tokens;
  int id = 0;
  for (const unsigned char byte : AlphabetOrder()) {
    const char character = static_cast<char>(byte);
    tokens +=
        nlohmann::json(InByteAlphabet({&character, 1})).dump() + ":" + std::to_string(id++) + ",";
  }
  return tokens;
}

struct Parts {
  std::string special = R"({"id":258,"content":"<|endoftext|>","special":true})";
  std::string tokens = R"("he":256,"ll":257,"<|endoftext|>":258)";
  std::string merges = R"("h e",["l","l"])";
};

std::string Document(const Parts& parts) {
  static const std::string kByteTokens = ByteTokens();
  return R"({"added_tokens":[)" + parts.special +
         R"(],"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},)"
         R"("decoder":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{)" +
         kByteTokens + parts.tokens + R"(},"merges":[)" + parts.merges + "]}}";
}

StatusOr<std::unique_ptr<Tokenizer>> ReadPair(std::string_view merges) {
  const auto vocab = formats::ParseJsonObject("{" + ByteTokens() + Parts().tokens + "}");
  ASSIGN_OR_RETURN(BytePairVocabulary vocabulary,
                   ReadVocabularyPair(*vocab, merges, "vocab.json", "merges.txt"));
  return MakeBytePairTokenizer(std::move(vocabulary));
}

StatusOr<std::unique_ptr<Tokenizer>> ReadBeside(std::string_view text) {
  ASSIGN_OR_RETURN(const nlohmann::json json, formats::ParseJsonObject(text));
  const CompanionFile file{"a.json", json};
  const CompanionFiles files{file, file, file, file, file};
  ASSIGN_OR_RETURN(const AddedTokens more, TokensIn(files, CompanionOf::kTokenizerJson));
  ASSIGN_OR_RETURN(auto tokenizer, ParseTokenizer(Document({}), more));
  RETURN_IF_ERROR(ApplySpecialTokens(files, *tokenizer).status());
  return tokenizer;
}

StatusOr<std::unique_ptr<Tokenizer>> Read(int choice, std::string_view text) {
  Parts parts;
  if (choice == 1) parts.special = text;
  if (choice == 2) parts.tokens = text;
  if (choice == 3) parts.merges = text;
  if (choice == 4) return ReadPair(text);
  if (choice == 5) return ReadBeside(text);
  return ParseTokenizer(choice == 0 ? std::string(text) : Document(parts));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  CheckPromises(Read(data[0] == 5 ? 5 : data[0] % 5, text), text);
  return 0;
}
