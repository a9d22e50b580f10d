// Reads the weights of a model that a run starts from (init_from) into the model's parameters: one
// tensor at a time, on every rank; the ranks then check that they have read the same. One thread;
// errors are exceptions.
#pragma once

#include <string>

#include "worker/engine/collectives/communicator.h"
#include "worker/engine/model/language_model.h"

namespace gp::engine {

// `model` is initialised already: positions after its context are left out, and rows of ids that
// the model at `path` lacks stay as they are. TrainingError: kConfig when the model does not fit,
// kStorage when ranks read different weights, otherwise as CauseOfUnusableData (kData when the path
// is missing). A collective operation.
void LoadInitialWeights(const std::string& path, Communicator& communicator, LanguageModel& model);

}  // namespace gp::engine
