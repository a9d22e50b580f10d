// DataReport: a check of a run file's data.text or data.train before the run: whether it exists in
// the expected form, how many tokens it holds and whether the model has all their ids. The trainer
// gives the same errors when it opens the same data. For data.stream: corpus/stream_report.h. Reads
// the disk; any thread may call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "plan/run_spec.h"

namespace gp {

struct DataReport {
  int64_t train_files = 0;
  int64_t train_tokens = 0;
  int64_t validation_tokens = 0;
  std::vector<int64_t> entry_tokens;  // for a mixture: of each entry of data.train
  bool estimated = false;             // the tokens were counted in a part of the text only
  int64_t vocabulary = 0;             // ids of the tokenizer
  int64_t largest_id = -1;            // in the shards; -1 for text
  bool sampled = false;               // largest_id is that of a part of the tokens
  std::vector<std::string> warnings;  // sentences
  std::string format;                 // "text", or that of the first shard: "llm.c"
};

// Limits on reading. More would cost time without much certainty about the rest.
struct InspectionLimits {
  uint64_t text_bytes = 32 << 20;    // of text, to collect characters and their number
  uint64_t encoded_bytes = 4 << 20;  // of text, to measure a BPE's tokens per byte
  int64_t tokens = 64 << 20;         // of shards, to find the largest id
};

// Errors name the key or the file, the place and a fix.
StatusOr<DataReport> InspectData(const runspec::RunSpec& spec, const InspectionLimits& limits = {});

}  // namespace gp
