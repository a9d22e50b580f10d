// gp's own checkpoints as models: read for an export, written by an import. Any thread may call.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "formats/checkpoint_manifest.h"
#include "interop/model_file.h"
#include "interop/model_source.h"

namespace gp::interop {

struct CheckpointModel {
  formats::CheckpointManifest manifest;
  std::unique_ptr<ModelSource> model;
};

// The checkpoint in `directory`, after comparing its weights and its tokenizer with the manifest's
// digests. NotFound when it has no manifest; DataLoss names the file that does not match.
StatusOr<CheckpointModel> OpenCheckpointModel(const std::string& directory);

// Writes a checkpoint of step 0 without optimizer state to `directory`, which appears complete or
// not at all; manifest.json is written last. `name` becomes its run's name.
Status WriteCheckpointModel(const ModelSource& source, const Tokenizer& tokenizer,
                            const std::string& name, const std::string& directory,
                            const CopyOptions& options);

}  // namespace gp::interop
