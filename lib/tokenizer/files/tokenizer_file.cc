#include "tokenizer/files/tokenizer_file.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/file.h"
#include "formats/strict_json.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/files/companion_files.h"
#include "tokenizer/files/special_token_files.h"
#include "tokenizer/files/tiktoken_text.h"
#include "tokenizer/json_file.h"
#include "tokenizer/merges_text.h"
#include "tokenizer/text_pattern.h"
#include "tokenizer/tokenizer_json.h"

namespace gp {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kTokenizerJson = "tokenizer.json";
constexpr char kForms[] =
    "tokenizer.json, vocab.json with merges.txt, vocab.bpe with encoder.json, or NAME.tiktoken";

struct FilePair {
  std::string_view vocab;
  std::string_view merges;
};

// All names may share a prefix: small-vocab.json.
constexpr FilePair kPairs[] = {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}};

// The prefix before the names.
std::string StemOf(const std::string& path, std::string_view name) {
  return path.substr(0, path.size() - name.size());
}

StatusOr<BytePairVocabulary> ReadPair(const std::string& stem, const FilePair& names,
                                      const CompanionFiles& companions) {
  const std::string vocab_path = stem + std::string(names.vocab);
  const std::string merges_path = stem + std::string(names.merges);
  for (const std::string& path : {vocab_path, merges_path}) {
    if (FileExists(path)) continue;
    return NotFound("{} does not exist; {} needs it", path,
                    BaseNameOf(path == vocab_path ? merges_path : vocab_path));
  }
  ASSIGN_OR_RETURN(const Json vocab, ReadJsonFile(vocab_path));
  ASSIGN_OR_RETURN(const std::string merges, ReadTokenizerText(merges_path));
  ASSIGN_OR_RETURN(AddedTokens added, TokensIn(companions, CompanionOf::kVocabulary));
  return ReadVocabularyPair(vocab, merges, vocab_path, merges_path, std::move(added));
}

StatusOr<BytePairVocabulary> ReadMergesAlone(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTokenizerText(path));
  auto vocabulary = ParseNumberedMerges(text);
  if (!vocabulary.ok()) return WithContext(vocabulary.status(), path);
  return vocabulary;
}

StatusOr<BytePairVocabulary> ReadTiktoken(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTokenizerText(path));
  auto vocabulary = ParseTiktoken(text);
  if (!vocabulary.ok()) return WithContext(vocabulary.status(), path);
  return vocabulary;
}

// The prefix before the usual part of the file name, as in "small-vocab.json"; the files beside it
// have the same prefix.
std::optional<std::string> FindStem(const std::string& path) {
  if (path.ends_with(kTokenizerJson)) return StemOf(path, kTokenizerJson);
  for (const FilePair& names : kPairs) {
    for (const std::string_view name : {names.vocab, names.merges}) {
      if (path.ends_with(name)) return StemOf(path, name);
    }
  }
  return std::nullopt;
}

// The vocabulary of a file recognised by its name; nullopt for other names.
StatusOr<std::optional<BytePairVocabulary>> ReadByName(const std::string& path,
                                                       const CompanionFiles& companions) {
  const auto some =
      [](StatusOr<BytePairVocabulary> vocabulary) -> StatusOr<std::optional<BytePairVocabulary>> {
    RETURN_IF_ERROR(vocabulary.status());
    return std::optional(*std::move(vocabulary));
  };
  if (path.ends_with(".tiktoken")) return some(ReadTiktoken(path));
  for (const FilePair& names : kPairs) {
    if (path.ends_with(names.vocab)) {
      return some(ReadPair(StemOf(path, names.vocab), names, companions));
    }
    if (!path.ends_with(names.merges)) continue;
    const std::string stem = StemOf(path, names.merges);
    // GPT-2's numbering needs no encoder.json.
    if (names.merges == "vocab.bpe" && !FileExists(stem + std::string(names.vocab))) {
      return some(ReadMergesAlone(path));
    }
    return some(ReadPair(stem, names, companions));
  }
  return std::optional<BytePairVocabulary>();
}

// transformers gives these classes GPT-2's pattern, whatever the vocabulary.
bool NamesGpt2Pattern(const CompanionFiles& companions) {
  const Json& name = formats::ValueOrNull(companions.tokenizer_config.json, "tokenizer_class");
  return name == "GPT2Tokenizer" || name == "GPT2TokenizerFast";
}

StatusOr<std::string> FindInDirectory(const std::string& directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory));
  for (const char* name : {"tokenizer.json", "vocab.json", "merges.txt", "vocab.bpe"}) {
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      return JoinPath(directory, name);
    }
  }
  std::vector<std::string> others;
  std::copy_if(names.begin(), names.end(), std::back_inserter(others),
               [](const std::string& name) { return name.ends_with(".tiktoken"); });
  if (others.size() == 1) return JoinPath(directory, others[0]);
  if (others.empty()) return NotFound("{} has no tokenizer: expected {}", directory, kForms);
  return InvalidArgument("{} has several .tiktoken files: name one of them", directory);
}

StatusOr<std::unique_ptr<Tokenizer>> ReadFrom(const std::string& path,
                                              const CompanionFiles& companions) {
  ASSIGN_OR_RETURN(auto vocabulary, ReadByName(path, companions));
  if (vocabulary) {
    if (!NamesGpt2Pattern(companions)) {
      RETURN_IF_ERROR(WithContext(CheckGpt2Pattern(*vocabulary), path));
    }
    return MakeBytePairTokenizer(*std::move(vocabulary));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadTokenizerText(path));
  if (!text.starts_with('{') && !text.starts_with("\xef\xbb\xbf")) {
    return InvalidArgument("{}: this is not a tokenizer: expected {}", path, kForms);
  }
  ASSIGN_OR_RETURN(const AddedTokens more, TokensIn(companions, CompanionOf::kTokenizerJson));
  auto tokenizer = ParseTokenizer(text, more);
  if (!tokenizer.ok()) return WithContext(tokenizer.status(), path);
  return tokenizer;
}

}  // namespace

StatusOr<std::unique_ptr<Tokenizer>> ReadTokenizer(const std::string& path,
                                                   std::vector<std::string>* notes) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    ASSIGN_OR_RETURN(const std::string file, FindInDirectory(path));
    return ReadTokenizer(file, notes);
  }
  CompanionFiles companions;
  if (const auto stem = FindStem(path)) {
    ASSIGN_OR_RETURN(companions, ReadCompanionFiles(*stem));
  }
  ASSIGN_OR_RETURN(auto tokenizer, ReadFrom(path, companions));
  ASSIGN_OR_RETURN(const auto contradictions, ApplySpecialTokens(companions, *tokenizer));
  if (notes == nullptr) return tokenizer;
  notes->insert(notes->end(), contradictions.begin(), contradictions.end());
  if (path.ends_with(".tiktoken") && tokenizer->kind() == "bpe") {
    notes->push_back(
        fmt::format("{} does not name the pattern that splits text; its tokens fit GPT-2's "
                    "pattern, so gp uses that",
                    BaseNameOf(path)));
  }
  return tokenizer;
}

}  // namespace gp
