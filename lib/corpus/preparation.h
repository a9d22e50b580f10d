// Preparation: text to shards of tokens in one of the published layouts, with dataset.json beside
// them. The shards are a function of the text and the options alone: not of the number of threads,
// nor of how often the preparation was killed and called again. What it has done it keeps in
// prepare.json (corpus/preparation_state.h). One preparation works in a folder at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"
#include "corpus/block.h"
#include "corpus/source.h"
#include "formats/dataset_file.h"
#include "tokenizer/tokenizer.h"

namespace gp::corpus {

struct PreparationOptions {
  std::vector<Source> sources;
  DocumentRules documents;
  formats::ShardFormat format = formats::ShardFormat::kLlmC;
  std::string directory;               // empty, absent, or one that this began
  int64_t shard_tokens = 100'000'000;  // as llm.c and build-nanogpt cut; not of nanoGPT's form
  // Tokens of the first shard. Default: one for each 40 bytes of the sources' files, a tenth of
  // GPT-2's tokens in plain text, and at most shard_tokens. With standard input, whose size is not
  // known: shard_tokens.
  std::optional<int64_t> val_tokens;
  std::optional<double> val_fraction;         // of nanoGPT's form; default 0.0005, as OpenWebText's
  int threads = 1;                            // that encode
  std::string created_by;                     // "gp 0.1.0"
  std::chrono::milliseconds interval{5'000};  // at most so much work is lost by a crash
};

struct PreparationProgress {
  uint64_t source_bytes = 0;        // read and done with, packed as they are
  uint64_t source_bytes_begun = 0;  // of them, before this call
  uint64_t source_bytes_total = 0;  // 0: standard input is among the sources
  int64_t documents = 0;
  int64_t tokens = 0;
  int64_t text_bytes = 0;
};

// Called between blocks, from the thread that prepares; many times a second.
using ReportProgress = std::function<void(const PreparationProgress&)>;

// Prepares, or goes on with what a call with the same options began. InvalidArgument: options that
// do not fit together, or text that cannot be read, with its place. AlreadyExists: the folder holds
// a finished dataset; FailedPrecondition: something else, or the beginning of another one.
// Cancelled after `stop`. After an error the same call goes on where the last one ended.
StatusOr<formats::DatasetFile> PrepareDataset(const Tokenizer& tokenizer,
                                              const PreparationOptions& options,
                                              const ReportProgress& report = nullptr,
                                              const std::stop_token& stop = {});

}  // namespace gp::corpus
