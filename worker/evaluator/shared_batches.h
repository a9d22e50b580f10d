// The batches of an evaluation, divided over the ranks of a group: each is computed by one rank,
// and every rank gets all results. One thread calls; errors are exceptions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

// Computes batch `batch` into `results`; called on the one rank that computes it.
using ComputeBatch = std::function<void(int64_t batch, std::span<double> results)>;
// Called on every rank when the ranks have synchronised, with the number finished on all ranks.
using BatchesDone = std::function<void(int64_t done)>;

// Fills `results`, results_each per batch: the same bits on every rank, because one rank computes
// each number. The ranks synchronise after every 8 batches of each, so that none waits for another
// longer than these take, however many batches there are. REQUIRES: results are not NaN.
void ComputeShared(Communicator& communicator, int64_t results_each, std::span<double> results,
                   const ComputeBatch& compute, const BatchesDone& done = {});

}  // namespace gp::engine
