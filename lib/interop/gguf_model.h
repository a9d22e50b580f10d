// A model as GGUF (docs/formats/gguf.md), for llama.cpp and programs built on it. gp writes GGUF
// but does not read it. Used by one thread.
#pragma once

#include <string>

#include "base/status.h"
#include "interop/model_file.h"
#include "interop/model_source.h"

namespace gp::interop {

// Writes weights, sizes and tokenizer into one file at `path`, which must not exist; `name` is the
// model's name. FailedPrecondition when llama.cpp cannot compute the model: the model must have
// tanh gelu, at most three tokens that end a text, and as its tokenizer bytes or a byte-level BPE
// whose merges make every token of any text.
Status WriteGguf(const ModelSource& source, const std::string& name, const CopyOptions& options,
                 const std::string& path);

}  // namespace gp::interop
