// A checkpoint of a model with random weights, for benches of servers. One thread calls.
#pragma once

#include <string>

#include "base/status.h"
#include "worker/engine/model/make_language_model.h"

namespace gp::engine {

// Writes a checkpoint below `directory` and returns its directory. A model with GPT-2's vocabulary
// needs vocab.bpe (scripts/bootstrap); smaller vocabularies get a character tokenizer.
StatusOr<std::string> WriteRandomCheckpoint(const std::string& directory,
                                            const ModelOptions& options);

}  // namespace gp::engine
