// What a run can take over from a model besides its weights: the runspec::ParentState of a
// checkpoint, or why the model has none. Functions may be called from any thread.
#pragma once

#include <string>

#include "formats/checkpoint_manifest.h"
#include "interop/model_format.h"
#include "runspec/parent_state.h"

namespace gp::interop {

// The state of the checkpoint in `directory`, from its manifest; refused if the checkpoint was
// imported or is in quarantine. Reads no tensor.
runspec::ParentState ParentStateOf(const std::string& directory,
                                   const formats::CheckpointManifest& manifest);

// For a model of another program: the refusal.
runspec::ParentState NoParentState(ModelFormat format);

}  // namespace gp::interop
