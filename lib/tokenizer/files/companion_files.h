// The files that transformers saves beside a tokenizer.json or vocab.json: added_tokens.json,
// tokenizer_config.json and special_tokens_map.json, and config.json and generation_config.json of
// the model. Any thread may call. The keys read from them: docs/formats/tokenizers.md.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"
#include "tokenizer/added_tokens.h"

namespace gp {

struct CompanionFile {
  std::string path;  // for messages
  nlohmann::json json = nlohmann::json::object();
};

struct CompanionFiles {
  CompanionFile added_tokens;
  CompanionFile tokenizer_config;
  CompanionFile special_tokens_map;
  CompanionFile model_config;
  CompanionFile generation_config;
};

// The kind of tokenizer file that they accompany.
enum class CompanionOf { kTokenizerJson, kVocabulary };

// Reads the files whose paths are `stem` and one of those names; `stem` is a directory with its '/'
// and perhaps a prefix. InvalidArgument names the file that is damaged.
StatusOr<CompanionFiles> ReadCompanionFiles(const std::string& stem);

// The added tokens that the files define. InvalidArgument names the file that is damaged, or that
// changes the ids of texts.
StatusOr<AddedTokens> TokensIn(const CompanionFiles& files, CompanionOf kind);

}  // namespace gp
