// A checkpoint of a model that learned nothing, for benches of what serves checkpoints. One thread
// calls.
#pragma once

#include <string>

#include "base/status.h"
#include "worker/engine/model/make_language_model.h"

namespace gp::engine {

// Writes one below `directory` and answers its own directory. GPT-2's vocabulary needs vocab.bpe
// (scripts/bootstrap); the small one has characters.
StatusOr<std::string> WriteRandomCheckpoint(const std::string& directory,
                                            const ModelOptions& options);

}  // namespace gp::engine
