// Evaluation: the mean loss over batches of the validation split, with the same code for every
// engine. The ranks of a group divide the batches. The result has the same bits on every rank and
// for every world size. One thread calls; errors are exceptions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "worker/engine/collectives/communicator.h"
#include "worker/engine/model/language_model.h"

namespace gp::engine {

// Batch `index` of the validation split; the spans stay valid until the next call.
using BatchAt = std::function<TokenBatch(int64_t index)>;

// Nats per target token over batches [0, batch_count); targets of -1 do not count. nullopt without
// a target.
std::optional<double> Evaluate(LanguageModel& model, Communicator& communicator,
                               int64_t batch_count, const BatchAt& batch_at);

}  // namespace gp::engine
