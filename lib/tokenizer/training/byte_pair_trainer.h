// Learns a byte-level BPE (Sennrich et al., 2016): the most frequent pair of neighbours becomes a
// token, until there are enough. Deterministic; gives the same merges as Hugging Face's BpeTrainer.
// Pure function; any thread may call.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "tokenizer/byte_pair_vocabulary.h"
#include "tokenizer/training/piece_counter.h"

namespace gp {

struct BytePairTraining {
  int64_t vocabulary = 50257;  // ids in all: 256 bytes, merges, and as the last one <|endoftext|>
  int64_t count_min = 2;       // a pair that occurs less often is not joined
  // Called after every 64 tokens with the number of tokens so far; returning false ends the
  // training with Cancelled.
  std::function<bool(int64_t tokens)> progress;
};

// Numbered like GPT-2's. It has fewer tokens than requested if no pair occurs often enough.
// REQUIRES: a vocabulary of at least 257.
StatusOr<BytePairVocabulary> TrainBytePairs(const std::vector<CountedPiece>& pieces,
                                            const BytePairTraining& training);

}  // namespace gp
