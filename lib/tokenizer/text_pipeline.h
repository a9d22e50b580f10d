// Checks that a Hugging Face tokenizer.json processes text before its model, and ids afterwards, as
// gp does. Pure functions; any thread may call. The rules: docs/formats/tokenizers.md.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"

namespace gp {

// InvalidArgument names the first key by which a text would get other ids than in gp, and a fix.
// `truncation` and `padding` pass: they belong to single calls of Hugging Face's library.
Status CheckTextPipeline(const nlohmann::json& document);

// Whether a post_processor leaves the ids as they are.
bool AddsNoTokens(const nlohmann::json& post_processor);

}  // namespace gp
