// nanoGPT's model as safetensors under its own names (docs/formats/nanogpt-model.md): the state
// dict of a ckpt.pt, which is a pickle, in model.safetensors, and its model_args as
// model_args.json. Any thread may call.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "interop/model_file.h"
#include "interop/model_source.h"
#include "interop/new_directory.h"

namespace gp::interop {

// True when `directory` holds a model_args.json.
bool IsNanoGpt(const std::string& directory);

// The tokenizer comes from a meta.pkl, if the directory has one.
StatusOr<std::unique_ptr<ModelSource>> OpenNanoGpt(const std::string& directory);

// The written vocab_size includes the rows that pad the vocabulary, like nanoGPT's 50304.
// FailedPrecondition for a model that nanoGPT cannot compute: its models have a tied head and exact
// gelu.
Status WriteNanoGpt(const ModelSource& source, const CopyOptions& options,
                    const NewDirectory& directory);

}  // namespace gp::interop
