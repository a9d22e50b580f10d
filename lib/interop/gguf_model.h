// A model as GGUF (docs/formats/gguf.md), which llama.cpp and what is built on it load. Written
// only. One thread.
#pragma once

#include <string>

#include "base/status.h"
#include "interop/model_file.h"
#include "interop/model_source.h"

namespace gp::interop {

// Weights, sizes and tokenizer in one file at `path`, which does not exist yet; `name` is the
// model's. FailedPrecondition when llama.cpp does not compute such a model: its gelu is tanh, its
// tokenizer bytes or a byte-level BPE whose merges make every token that text becomes.
Status WriteGguf(const ModelSource& source, const std::string& name, const CopyOptions& options,
                 const std::string& path);

}  // namespace gp::interop
