// Writes a model as one safetensors file. Used by one thread.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "interop/model_file.h"
#include "interop/safetensors_model.h"

namespace gp::interop {

// Writes the weights of `source`, in the layout of `shape` (its padding, its biases) and under
// `names`, to `path`, which must not exist yet.
StatusOr<formats::CheckpointFile> WriteSafetensors(
    const ModelSource& source, const runspec::ModelShape& shape, const TensorNames& names,
    const std::map<std::string, std::string>& metadata, const CopyOptions& options,
    const std::string& path);

}  // namespace gp::interop
