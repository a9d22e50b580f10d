// Reads the weights of the model that init_from names into the run's model: one tensor at a time,
// on every rank; the ranks then check that they have read the same. One thread; errors are
// exceptions.
#pragma once

#include <string>

#include "worker/engine/collectives/communicator.h"
#include "worker/engine/model/language_model.h"

namespace gp::engine {

// REQUIRES: `model` is initialised. Positions after its context are not copied, and the rows of
// token ids that the model at `path` lacks keep their initial values. TrainingError: kConfig when
// the model does not fit, kStorage when ranks read different weights, otherwise as
// CauseOfUnusableData (kData when the path is missing). A collective operation.
void LoadInitialWeights(const std::string& path, Communicator& communicator, LanguageModel& model);

// Throws kStorage unless `digest`, of at least 12 hexadecimal digits, is equal on all ranks. `what`
// is what they have read from init_from: "weights". A collective operation.
void AgreeOnInitial(const std::string& what, const std::string& digest, Communicator& communicator);

}  // namespace gp::engine
