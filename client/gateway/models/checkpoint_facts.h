// CheckpointFacts: what the gateway reads of a checkpoint itself: its manifest and tokenizer.
// Constant once read; thread-safe. CheckpointShelf: those that were read; used in the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "formats/checkpoint_manifest.h"
#include "http/offload_pool.h"
#include "tokenizer/tokenizer.h"

namespace gp::gateway {

struct CheckpointFacts {
  std::string directory;
  formats::CheckpointManifest manifest;
  std::string fingerprint;  // "fp_" and the beginning of the digest of its weights
  std::shared_ptr<const Tokenizer> tokenizer;
  int64_t parameters = 0;
  size_t token_bytes_max = 1;  // of the longest token's text

  int64_t context() const { return manifest.shape.context; }
  // No text of prompt and answer together is longer.
  size_t text_bytes_max() const { return static_cast<size_t>(context()) * token_bytes_max; }
  // Ids that a prompt may have.
  int64_t vocabulary() const;
  // For a prompt that is absent or empty: what a model that was imported and not trained since
  // calls its first token, otherwise what documents begin with here.
  int32_t first_token() const;
};
using SharedFacts = std::shared_ptr<const CheckpointFacts>;

// Tokenizers by the digests of their files: the checkpoints of a run have one. Thread-safe.
class TokenizerCache {
 public:
  // Without a digest the file is read.
  StatusOr<std::shared_ptr<const Tokenizer>> Get(const std::string& path,
                                                 const std::string& digest);

 private:
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<const Tokenizer>> known_ GUARDED_BY(mutex_);
};

// Reads manifest and tokenizer. The error says what is damaged.
StatusOr<SharedFacts> ReadCheckpointFacts(const std::string& directory, TokenizerCache& tokenizers);

class CheckpointShelf {
 public:
  using Done = std::function<void(const StatusOr<SharedFacts>&)>;

  explicit CheckpointShelf(http::OffloadPool& pool) : pool_(pool) {}

  // What is known of it already; null when it was never read.
  SharedFacts Known(const std::string& directory) const;
  // Reads it unless it is known, and calls back: at once when it is. A failure is not kept.
  void Want(const std::string& directory, Done done);
  // Keeps those alone.
  void Retain(const std::vector<std::string>& directories);
  // Grows when more or less is known.
  uint64_t version() const { return version_; }

 private:
  http::OffloadPool& pool_;
  const std::shared_ptr<TokenizerCache> tokenizers_ = std::make_shared<TokenizerCache>();
  std::map<std::string, SharedFacts> known_;
  uint64_t version_ = 0;
  std::map<std::string, std::vector<Done>> waiting_;
};

}  // namespace gp::gateway
