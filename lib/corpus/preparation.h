// Preparation: turns text into shards of tokens in one of the published layouts, with dataset.json
// beside them. The shards depend on the text and the options only: not on the number of threads,
// nor on how often the preparation was killed and restarted. Its progress is in prepare.json
// (corpus/preparation_state.h). One preparation works in a folder at a time.
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
  std::string directory;               // empty, absent, or begun by such a preparation
  int64_t shard_tokens = 100'000'000;  // as in llm.c and build-nanogpt; not for nanoGPT's form
  // Tokens of the first shard, which is the validation split; 0: no validation split. The default
  // is one token per 40 bytes of the source files (about a tenth of the GPT-2 tokens of plain
  // text), but at most shard_tokens, and 0 if that would be 1. For standard input, whose size is
  // unknown, it is shard_tokens.
  std::optional<int64_t> val_tokens;
  std::optional<double> val_fraction;  // for nanoGPT's form; default 0.0005, as for OpenWebText
  int threads = 1;                     // threads that encode
  std::string created_by;              // "gp 0.1.0"
  // prepare.json is written this often, and when a shard is full: a crash loses about this much
  // work.
  std::chrono::milliseconds interval{5'000};
};

struct PreparationProgress {
  uint64_t source_bytes = 0;        // of the files, before unpacking, whose text is in the shards
  uint64_t source_bytes_begun = 0;  // source bytes read before this call
  uint64_t source_bytes_total = 0;  // 0: standard input is among the sources
  int64_t documents = 0;
  int64_t tokens = 0;
  int64_t text_bytes = 0;
};

// Called between blocks, from the thread that prepares; many times a second.
using ReportProgress = std::function<void(const PreparationProgress&)>;

// Prepares the dataset, or resumes the work of an earlier call with the same options.
// InvalidArgument: contradictory options, or unreadable text, with its place. AlreadyExists: the
// folder holds a finished dataset; FailedPrecondition: it holds something else, or the beginning of
// another dataset. Cancelled after `stop`. After an error the same call resumes where the last one
// ended.
StatusOr<formats::DatasetFile> PrepareDataset(const Tokenizer& tokenizer,
                                              const PreparationOptions& options,
                                              const ReportProgress& report = nullptr,
                                              const std::stop_token& stop = {});

}  // namespace gp::corpus
