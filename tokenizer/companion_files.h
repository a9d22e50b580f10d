// What transformers saves beside a tokenizer.json or vocab.json: added_tokens.json,
// tokenizer_config.json and special_tokens_map.json. Functions of one thread each. What is read of
// them: docs/formats/tokenizers.md.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"
#include "tokenizer/added_tokens.h"

namespace gp {

struct CompanionFile {
  std::string path;     // for messages
  nlohmann::json json;  // an empty object where there is no such file
};

struct CompanionFiles {
  CompanionFile added_tokens;
  CompanionFile tokenizer_config;
  CompanionFile special_tokens_map;
};

// Which file they stand beside.
enum class CompanionOf { kTokenizerJson, kVocabulary };

// The tokens in the files of these names after `stem`, a directory with its '/' and perhaps a
// prefix. InvalidArgument names the file that is damaged, or that changes the ids of texts.
StatusOr<AddedTokens> ReadCompanionFiles(const std::string& stem, CompanionOf kind);

// The same of files that have been read.
StatusOr<AddedTokens> TokensIn(const CompanionFiles& files, CompanionOf kind);

}  // namespace gp
