// EncodingPipeline: encodes the text of many sources into tokens on many threads, delivered in the
// order of the sources and of their text. Two threads read one source each; `threads` others encode
// blocks of either. Read-ahead is bounded in bytes; with the default bytes_max, memory stays below
// 1 GiB for any sources. A source that changes while it is read is an error (DataLoss). Owned and
// read by one thread at a time; its destructor joins its threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "corpus/block.h"
#include "corpus/block_encoder.h"
#include "corpus/corpus_position.h"
#include "corpus/source.h"

namespace gp::corpus {

struct PipelineOptions {
  int threads = 1;      // for encoding
  CorpusPosition from;  // where to begin
  // Limit for the text that waits or is being encoded. Half of it is reserved for the source whose
  // results are delivered. The text's JSON index, strings and tokens take up to nine times as much
  // memory.
  uint64_t bytes_max = uint64_t{64} << 20;
  bool endless = false;  // after the last source the first follows again
};

class EncodingPipeline {
 public:
  // A block's tokens. The next block begins at `end`.
  struct Result {
    EncodedBlock encoded;
    CorpusPosition end;
    size_t source = 0;  // of the block; counts on over passes, as CorpusPosition::source does
    int64_t text_bytes = 0;
    uint64_t source_bytes = 0;  // how far the file of the block was read, for progress
  };

  // `sources`, at least one, and `encoder` must outlive this.
  EncodingPipeline(const std::vector<Source>& sources, const BlockEncoder& encoder,
                   const PipelineOptions& options);
  ~EncodingPipeline();
  EncodingPipeline(const EncodingPipeline&) = delete;
  EncodingPipeline& operator=(const EncodingPipeline&) = delete;

  // The next block's result, in order; nullopt after the last one. Waits for it. An error is the
  // one of the first bad place in the order of the text; do not call again after it.
  // InvalidArgument if an endless pipeline found no text in a whole pass over the sources.
  StatusOr<std::optional<Result>> Next() EXCLUDES(mutex_);

 private:
  struct Slot {
    Block block;
    uint64_t source_bytes = 0;
    std::optional<StatusOr<EncodedBlock>> encoded;  // once its thread is done
  };
  // The blocks of a source that were read and not yet handed out.
  struct SourceQueue {
    std::deque<std::shared_ptr<Slot>> slots;
    size_t untaken = 0;  // index in slots of the first that no thread encodes yet
    uint64_t bytes = 0;
    bool ended = false;
    Status status;  // why it ended
  };

  bool Exists(size_t source) const { return options_.endless || source < sources_.size(); }
  const Source& SourceAt(size_t source) const { return sources_[source % sources_.size()]; }
  void Read() EXCLUDES(mutex_);
  void ReadSource(size_t source) EXCLUDES(mutex_);
  bool Post(size_t source, std::shared_ptr<Slot> slot) EXCLUDES(mutex_);
  void EndSource(size_t source, const Status& status) EXCLUDES(mutex_);
  bool HasRoom(size_t source) const REQUIRES(mutex_);
  void Encode() EXCLUDES(mutex_);
  std::shared_ptr<Slot> ClaimSlot(size_t& source) EXCLUDES(mutex_);
  Result HandOut(SourceQueue& queue) REQUIRES(mutex_);
  Status EndFrontSource() REQUIRES(mutex_);

  const std::vector<Source>& sources_;
  const BlockEncoder& encoder_;
  const PipelineOptions options_;

  Mutex mutex_;
  CondVar room_;      // for readers
  CondVar untaken_;   // for encoders
  CondVar progress_;  // for the owner
  bool stopping_ GUARDED_BY(mutex_) = false;
  size_t next_source_ GUARDED_BY(mutex_) = 0;  // first source that no thread reads yet
  size_t front_ GUARDED_BY(mutex_) = 0;        // source whose results are delivered
  uint64_t bytes_ GUARDED_BY(mutex_) = 0;      // over all queues
  // Whether this pass over the sources had text. True at first unless the pipeline starts at the
  // very beginning.
  bool text_in_this_pass_ GUARDED_BY(mutex_) = false;
  std::map<size_t, SourceQueue> queues_ GUARDED_BY(mutex_);  // by source
  std::vector<std::jthread> threads_;
};

}  // namespace gp::corpus
