// EncodingPipeline: encodes the text of many sources into tokens on many threads, delivered in the
// order of the sources and of their text. Two threads read one source each; the others encode
// blocks of either. Read-ahead is bounded in bytes, so that memory stays below 1 GiB whatever the
// sources hold. A source that changes meanwhile is an error. Owned and read by one thread at a
// time; its destructor joins its threads.
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
  // Limit for the text that waits or is being encoded. Half of it is kept for the source that is
  // handed out. The text's JSON index, strings and tokens take up to nine times as much memory.
  uint64_t bytes_max = uint64_t{64} << 20;
  bool endless = false;  // after the last source the first follows again
};

class EncodingPipeline {
 public:
  // A block's tokens. What comes after them begins at `end`.
  struct Result {
    EncodedBlock encoded;
    CorpusPosition end;
    size_t source = 0;  // source of the block
    int64_t text_bytes = 0;
    uint64_t source_bytes = 0;  // how far the file of the block was read, for progress
  };

  // `sources`, at least one, and `encoder` must outlive this object.
  EncodingPipeline(const std::vector<Source>& sources, const BlockEncoder& encoder,
                   const PipelineOptions& options);
  ~EncodingPipeline();
  EncodingPipeline(const EncodingPipeline&) = delete;
  EncodingPipeline& operator=(const EncodingPipeline&) = delete;

  // The next block's result, in order; nullopt after the last one. Waits. After an error, which is
  // that of the first bad place in the order of the text, nothing follows. InvalidArgument if an
  // endless pipeline finds no text in any source.
  StatusOr<std::optional<Result>> Next() EXCLUDES(mutex_);

 private:
  struct Slot {
    Block block;
    uint64_t source_bytes = 0;
    std::optional<StatusOr<EncodedBlock>> encoded;  // once its thread is done
  };
  // The blocks of a source that were read and not handed out.
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
  // Since the first source, unless the beginning lay after it.
  bool text_in_this_pass_ GUARDED_BY(mutex_) = false;
  std::map<size_t, SourceQueue> queues_ GUARDED_BY(mutex_);  // by source
  std::vector<std::jthread> threads_;
};

}  // namespace gp::corpus
