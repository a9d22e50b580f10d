// The tokenizer that lies beside a model's weights. Functions of one thread each.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "interop/model_source.h"
#include "tokenizer/tokenizer.h"

namespace gp::interop {

// Null when `directory` has no file of a tokenizer; an error names one that cannot be read.
StatusOr<std::shared_ptr<const Tokenizer>> TokenizerIn(const std::string& directory);

// The tokenizer that a model is used with when nobody names one: its own, or GPT-2's where the
// vocabulary has as many ids. InvalidArgument asks for a name.
StatusOr<std::shared_ptr<const Tokenizer>> TokenizerFor(const ModelSource& source);

}  // namespace gp::interop
