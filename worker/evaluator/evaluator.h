// Evaluation: the mean loss over batches of the validation split, with the same code for every
// engine. The ranks of a group divide the batches. The result has the same bits on every rank and
// for every world size. One thread calls; errors are exceptions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tokenizer/token_bytes.h"
#include "worker/engine/collectives/communicator.h"
#include "worker/engine/model/language_model.h"
#include "worker/evaluator/shared_batches.h"

namespace gp::engine {

// Batch `index` of the validation split; the spans stay valid until the next call.
using BatchAt = std::function<TokenBatch(int64_t index)>;

// The loss of one batch of windows.
struct WindowLoss {
  double nats = 0;  // the sum over its targets; infinite if it is not a number
  int64_t tokens = 0;
};

struct Evaluation {
  double loss = 0;  // nats per target token; targets of -1 do not count
  int64_t tokens = 0;
  std::optional<int64_t>
      bytes;  // bytes of the targets' text; absent if the tokenizer lacks one of them

  std::vector<WindowLoss> windows;  // by batch, without batches that have no target

  // The loss in bits, for each byte of text: comparable between vocabularies. Absent without bytes.
  std::optional<double> bits_per_byte() const;
};

// Over batches [0, batch_count). nullopt without a target.
std::optional<Evaluation> Evaluate(LanguageModel& model, Communicator& communicator,
                                   int64_t batch_count, const BatchAt& batch_at,
                                   const TokenBytes& token_bytes, const BatchesDone& done = {});

}  // namespace gp::engine
