// PreparationState: what a preparation that is not finished has made durable: how it was begun, how
// far it has read, and what of its shards holds exactly that. It stands as `prepare.json` beside
// the shards and is replaced whole (docs/formats/dataset.md). Any thread may call.
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

// What the shards depend on: the words of each choice by its name.
struct PreparationChoice {
  std::string name;  // "tokenizer"
  std::string value;
};

// A shard that was begun; `tokens` of it are durable.
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
  int64_t documents = 0;  // that were begun
  int64_t empty_documents = 0;
  int64_t null_lines = 0;  // of JSON, skipped
  int64_t text_bytes = 0;
  formats::SpelledEnds spelled_ends;
};

std::string FormatPreparationState(const PreparationState& state);
StatusOr<PreparationState> ParsePreparationState(std::string_view json);

// OK when the preparation that `begun` tells of is the one that is asked for; FailedPrecondition
// names the first choice that differs.
Status CheckSamePreparation(const std::vector<PreparationChoice>& begun,
                            const std::vector<PreparationChoice>& asked);

}  // namespace gp::corpus
