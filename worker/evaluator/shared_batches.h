// The batches of an evaluation, divided over the ranks of a group: each is computed by one rank,
// and every rank gets all results. One thread calls; errors are exceptions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

// Called on every rank for its batches, with the number finished on all ranks.
using ComputeBatch = std::function<void(int64_t batch, std::span<double> results)>;
using BatchesDone = std::function<void(int64_t done)>;

// Fills `results`, results_each per batch: the same bits on every rank, because one rank computes
// each number. The ranks synchronise every few batches, so that none waits for another longer than
// these take, however many batches there are. REQUIRES: results are not NaN.
void ComputeShared(Communicator& communicator, int64_t results_each, std::span<double> results,
                   const ComputeBatch& compute, const BatchesDone& done = {});

}  // namespace gp::engine
