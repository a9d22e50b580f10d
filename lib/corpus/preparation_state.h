// PreparationState: the durable state of an unfinished preparation: its options, its read position,
// and the matching contents of its shards. It is stored as `prepare.json` beside the shards and
// replaced as a whole (docs/formats/dataset.md). Any thread may call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "corpus/corpus_position.h"
#include "formats/dataset_file.h"

namespace gp::corpus {

inline constexpr char kPreparationFileName[] = "prepare.json";

// The options that the shards depend on: each one's name and value as text.
struct PreparationChoice {
  std::string name;  // "tokenizer"
  std::string value;
};

// A shard being written, of which the first `tokens` tokens are durable.
struct OpenShard {
  std::string name;
  std::string split;
  int64_t tokens = 0;
};

struct PreparationState {
  std::vector<PreparationChoice> choices;
  CorpusPosition position;  // everything before it is in the shards, and nothing after it
  std::vector<formats::DatasetShard> finished;
  std::vector<OpenShard> open;
  int64_t documents = 0;  // documents begun
  int64_t empty_documents = 0;
  int64_t null_lines = 0;  // JSON lines that were skipped
  int64_t text_bytes = 0;
  formats::SpelledEnds spelled_ends;
};

std::string FormatPreparationState(const PreparationState& state);
StatusOr<PreparationState> ParsePreparationState(std::string_view json);

// OK if the preparation in `begun` is the requested one; FailedPrecondition names the first option
// that differs.
Status CheckSamePreparation(const std::vector<PreparationChoice>& begun,
                            const std::vector<PreparationChoice>& asked);

}  // namespace gp::corpus
