// TokenSource: a split's tokens as one long sequence, from memory (text), from shards or from a
// stream. The token at an offset is always the same one; any thread may read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/token_shard.h"

namespace gp::engine {

class TokenSource {
 public:
  virtual ~TokenSource() = default;

  virtual int64_t size() const = 0;

  // Bytes of a token in memory or in the files that it is read from; the largest where files
  // differ.
  virtual int token_bytes() const { return sizeof(uint16_t); }

  // Copies tokens [offset, offset + tokens.size()). InvalidArgument names file and position of a
  // token that is not below the vocabulary. REQUIRES: the range lies inside the source.
  virtual Status Read(int64_t offset, std::span<int32_t> tokens) const = 0;

  // Tokens [offset, offset + count) will be read soon: starts reading them from disk. Returns at
  // once. REQUIRES: the range lies inside the source.
  virtual void Expect(int64_t /*offset*/, int64_t /*count*/) const {}

  // Tokens before `offset` will not be read any more: their memory may be freed.
  virtual void Pass(int64_t /*offset*/) const {}

  // The sizes of the files it consists of, in order. Sequential batches do not cross from one into
  // the next.
  virtual std::vector<int64_t> parts() const = 0;
};

// Tokens in memory, as two bytes each where the vocabulary allows.
std::unique_ptr<TokenSource> MakeMemoryTokens(const std::vector<int32_t>& tokens);

// Shards one after the other. Tokens at or above `vocabulary` are refused when they are read.
std::unique_ptr<TokenSource> MakeShardTokens(std::vector<formats::TokenShard> shards,
                                             int64_t vocabulary);

}  // namespace gp::engine
