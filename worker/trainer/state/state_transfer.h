// How a rank that joins a group gets the state of the training from a rank that has it. The thread
// that uses the group calls; errors are exceptions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "worker/engine/collectives/communicator.h"
#include "worker/engine/step/training_step.h"

namespace gp::engine {

// Copies `values` and `text` of the rank joining.donor to the ranks joining.ranks, in pieces, and
// compares the digests of what was sent and received. Returns the donor's text on the ranks that
// join, and "" on all others. `values` have the same sizes on every rank. A collective operation:
// it returns only when every joiner has the donor's state. When a joiner received something else,
// that one throws TrainingError, and all others CollectiveError.
std::string TransferState(const Joining& joining, const std::vector<std::span<float>>& values,
                          const std::string& text, Communicator& communicator);

}  // namespace gp::engine
