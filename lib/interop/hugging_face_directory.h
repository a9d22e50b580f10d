// Reads and writes a Hugging Face GPT-2 directory (docs/formats/hugging-face.md). Any thread may
// call.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "interop/model_file.h"
#include "interop/model_source.h"
#include "interop/new_directory.h"

namespace gp::interop {

// The model in `directory`: config.json, and model.safetensors or its shards, under any prefix of
// interop/tensor_names.h; the tokenizer if the directory has one that gp reads.
StatusOr<std::unique_ptr<ModelSource>> OpenHuggingFace(const std::string& directory);

// The same files as save_pretrained of model and tokenizer: config.json, generation_config.json,
// model.safetensors, and the tokenizer's files.
Status WriteHuggingFace(const ModelSource& source, const CopyOptions& options,
                        const NewDirectory& directory);

}  // namespace gp::interop
