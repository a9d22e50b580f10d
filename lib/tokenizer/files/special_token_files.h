// The purposes of special tokens according to the files beside a tokenizer: bos_token, eos_token,
// pad_token and unk_token of tokenizer_config.json and special_tokens_map.json;
// split_special_tokens of the former; bos_token_id, eos_token_id and pad_token_id of
// generation_config.json and config.json. Pure function; any thread may call. The rules:
// docs/formats/tokenizers.md.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "tokenizer/files/companion_files.h"
#include "tokenizer/tokenizer.h"

namespace gp {

// Sets what `files` define; the rest stays as it is. Returns a sentence for each contradiction.
// InvalidArgument names the file and the key with an invalid id.
StatusOr<std::vector<std::string>> ApplySpecialTokens(const CompanionFiles& files,
                                                      Tokenizer& tokenizer);

}  // namespace gp
