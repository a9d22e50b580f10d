// Dataset: the data of a run: its tokenizer, its training split and its validation split, opened
// from the run file's data section. Constant after construction; any thread may read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "plan/run_spec.h"
#include "tokenizer/tokenizer.h"
#include "worker/data/token_source.h"
#include "worker/data/token_stream.h"

namespace gp::engine {

struct Dataset {
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<TokenSource> train;
  TokenStream* stream = nullptr;     // `train`, where it is one
  std::vector<int64_t> entry_files;  // for shards: how many files each entry of data.train names
  std::unique_ptr<TokenSource> validation;  // nullptr when the run has none
  std::string fingerprint;  // equal for equal data and tokenizer; checkpoints compare it
  std::string description;  // for the log: "text: 1,003,854 + 111,540 tokens, 65 chars"
};

// Reads all text and encodes it on `threads`, opens shards, and checks the files of a stream, which
// is not read before the first batch. Globs are sorted. Errors (InvalidArgument, NotFound) name the
// path, the problem and the fix: missing or empty files, globs without a match, text that is not
// UTF-8 for chars, splits without tokens, truncated shards, tokens beyond the vocabulary (those
// near the start of each shard; the others when they are read).
StatusOr<Dataset> OpenDataset(const runspec::RunSpec& spec, int threads = 1);

}  // namespace gp::engine
