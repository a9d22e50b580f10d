// config.json and generation_config.json of a Hugging Face GPT-2 directory: parsing the settings
// that gp supports, and writing them. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "interop/float_type.h"
#include "plan/model_shape.h"
#include "tokenizer/special_tokens.h"

namespace gp::interop {

// The model that a config.json describes; its dropout is resid_pdrop. InvalidArgument names `path`
// and the key that is missing, malformed, or unsupported by gp.
StatusOr<runspec::ModelShape> ParseHuggingFaceConfig(std::string_view text,
                                                     const std::string& path);

// Writes every field that transformers needs. The vocabulary is written without its padding; biases
// are always present, since transformers' GPT-2 cannot leave them out.
std::string FormatHuggingFaceConfig(const runspec::ModelShape& shape, FloatType type,
                                    const SpecialTokens& special);

std::string FormatGenerationConfig(const SpecialTokens& special);

}  // namespace gp::interop
