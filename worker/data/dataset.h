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
  TokenStream* stream = nullptr;     // `train` if it is a stream, else nullptr
  std::vector<int64_t> entry_files;  // for shards: how many files each entry of data.train names
  std::unique_ptr<TokenSource> validation;  // nullptr when the run has none
  // Equal for equal data, tokenizer and split; checkpoints compare it. Of shards and of a stream's
  // files it covers the size and the first and last bytes only.
  std::string fingerprint;
  // For the log: "text: 1,003,854 training and 111,540 validation tokens, 65 ids (chars)".
  std::string description;
};

// Reads all text and encodes it on `threads`, opens shards, and checks the files of a stream, which
// is not read before the first batch (its data.val is read now). Globs are sorted. Errors
// (InvalidArgument, NotFound) name the path, the problem and the fix: missing or empty files, globs
// without a match, text that is not UTF-8 for chars or does not fit into memory, splits without
// tokens, truncated shards, tokens beyond the vocabulary (in the first 1,048,576 of each shard; the
// others are checked when they are read).
StatusOr<Dataset> OpenDataset(const runspec::RunSpec& spec, int threads = 1);

}  // namespace gp::engine
