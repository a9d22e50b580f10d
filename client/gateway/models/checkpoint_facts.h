// CheckpointFacts: what the gateway itself reads of a checkpoint: its manifest and tokenizer.
// Constant once read; thread-safe. CheckpointShelf: the facts read so far; used in the loop.
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
  size_t token_bytes_max = 1;  // bytes of the longest token's text

  int64_t context() const { return manifest.shape.context; }
  // Upper limit for the bytes of prompt and answer together.
  size_t text_bytes_max() const { return static_cast<size_t>(context()) * token_bytes_max; }
  // Token ids in a prompt must be below this number.
  int64_t vocabulary() const;
  // The first token for an absent or empty prompt: the model's own begin token if it was imported
  // and not trained since, otherwise the token that begins documents.
  int32_t first_token() const;
};
using SharedFacts = std::shared_ptr<const CheckpointFacts>;

// Tokenizers by the digests of their files: the checkpoints of a run have one. Thread-safe.
class TokenizerCache {
 public:
  // Reads the file unless a tokenizer with this digest is cached; always if the digest is empty.
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

  // The facts if they were read already; otherwise null.
  SharedFacts Known(const std::string& directory) const;
  // Reads the facts unless they are cached, and calls back: at once when they are. A failure is not
  // cached.
  void Want(const std::string& directory, Done done);
  // Drops the facts of all other directories.
  void Retain(const std::vector<std::string>& directories);
  // Grows whenever facts are added or dropped.
  uint64_t version() const { return version_; }

 private:
  http::OffloadPool& pool_;
  const std::shared_ptr<TokenizerCache> tokenizers_ = std::make_shared<TokenizerCache>();
  std::map<std::string, SharedFacts> known_;
  uint64_t version_ = 0;
  std::map<std::string, std::vector<Done>> waiting_;
};

}  // namespace gp::gateway
