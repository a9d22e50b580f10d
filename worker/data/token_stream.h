// TokenStream: text that is read and tokenized during training, as one endless sequence of
// tokens: the documents of the sources in their order, the end-of-text token before each where the
// tokenizer has one, and from the front again after the last one. The sequence is that of `gpctl
// data prepare` over the same sources, so that a stream trains as its shards do in sequential
// order.
//
// Every rank tokenizes the whole sequence in two threads of its own, which run ahead, and keeps
// what its step reads: one thread makes millions of tokens per second, and what a rank reads does
// not depend on the other ranks. So it resumes exactly, on any number of ranks: the step's number
// alone decides what the step reads. Checkpoints store a position only so that a resumed run gets
// there quickly: a place between two blocks of text, and how many tokens lie before it. Without one
// the stream is read from its front, to the same tokens.
//
// In memory are the text and tokens that wait (some 100 MB at most) and the tokens from Pass to
// the furthest Read: those of one step and of the micro-batch that is read ahead. Any thread may
// call.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "corpus/encoding_pipeline.h"
#include "tokenizer/tokenizer.h"
#include "worker/data/token_source.h"

namespace gp::engine {

// More than any run reads, and far below 64 bits.
inline constexpr int64_t kEndless = int64_t{1} << 60;

struct StreamPosition {
  int64_t tokens = 0;  // number of tokens before `place`
  corpus::CorpusPosition place;

  bool operator==(const StreamPosition&) const = default;
};

// The form in checkpoints: one line of JSON.
std::string FormatStreamPosition(const StreamPosition& position);
// DataLoss says what is wrong.
StatusOr<StreamPosition> ParseStreamPosition(const std::string& text);

// How documents are tokenized for a run: like `gpctl data prepare`.
corpus::EncodingRules StreamRules(const Tokenizer& tokenizer,
                                  const corpus::DocumentRules& documents);

class TokenStream final : public TokenSource {
 public:
  // `tokenizer` must outlive this object. REQUIRES: there is a source.
  TokenStream(std::vector<corpus::Source> sources, const Tokenizer& tokenizer,
              const corpus::DocumentRules& documents);

  // Resumes at `position`, from a stream of the same sources. REQUIRES: nothing was read.
  void ResumeAt(const StreamPosition& position) EXCLUDES(mutex_);

  // The last known position at or before token `offset`. REQUIRES: `offset` was read or passed, and
  // nothing after it was passed.
  StreamPosition PositionBefore(int64_t offset) const EXCLUDES(mutex_);

  int64_t size() const override { return kEndless; }
  int token_bytes() const override { return encoder_.rules().token_bytes; }
  std::vector<int64_t> parts() const override { return {kEndless}; }

  // Waits for text that is not tokenized yet. InvalidArgument and DataLoss name the source and the
  // place: not text, damaged, changed, without any text. Every later Read then returns that error.
  Status Read(int64_t offset, std::span<int32_t> tokens) const override EXCLUDES(mutex_);

  void Pass(int64_t offset) const override EXCLUDES(mutex_);

 private:
  // A block's tokens.
  struct Chunk {
    StreamPosition begin;
    int64_t count = 0;
    std::string bytes;
  };

  Status LoadUntil(int64_t offset) const REQUIRES(mutex_);
  void WarnOnce(const formats::SpelledEnds& ends) const REQUIRES(mutex_);
  void Copy(const Chunk& chunk, int64_t offset, std::span<int32_t> tokens) const;

  const std::vector<corpus::Source> sources_;
  const corpus::BlockEncoder encoder_;

  mutable Mutex mutex_;
  mutable std::optional<corpus::EncodingPipeline> pipeline_ GUARDED_BY(mutex_);  // since first Read
  mutable std::deque<Chunk> chunks_ GUARDED_BY(mutex_);
  mutable StreamPosition next_ GUARDED_BY(mutex_);  // of the next chunk
  mutable Status broken_ GUARDED_BY(mutex_);
  mutable bool warned_ GUARDED_BY(mutex_) = false;
};

}  // namespace gp::engine
