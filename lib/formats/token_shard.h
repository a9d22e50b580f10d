// A file of token ids: llm.c .bin, build-nanogpt .npy or nanoGPT's raw uint16, distinguished by
// content (docs/formats/token-shards.md). Opening is cheap whatever the size: tokens are read on
// demand, so that a file truncated by another program gives an error instead of a crash. Any thread
// may read it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "formats/random_access_file.h"

namespace gp::formats {

enum class ShardFormat { kLlmC, kNpy, kRaw };

std::string_view ShardFormatName(ShardFormat format);

// How to interpret a file without a header.
enum class Headerless {
  kChecked,  // uint16 tokens, unless it looks like something else (formats/likeness/likeness.h)
  kUint16,   // uint16 tokens, whatever it looks like
};

class TokenShard {
 public:
  // InvalidArgument names file, offset and expectation when the file is empty, cut short, of an
  // unknown form or not tokens. A file without a header that is refused only for its looks is
  // accepted with Headerless::kUint16, which data.format: uint16 sets, or when dataset.json beside
  // it lists it with its size in two-byte tokens.
  static StatusOr<TokenShard> Open(const std::string& path,
                                   Headerless headerless = Headerless::kChecked);

  ShardFormat format() const { return format_; }
  int64_t size() const { return size_; }  // tokens
  int token_bytes() const { return element_bytes_; }
  const std::string& path() const { return file_.path(); }

  // InvalidArgument when the file has no header, was not declared as uint16, and uint16 cannot hold
  // every id below `vocabulary`, or its tokens make sense only as big-endian ones.
  Status CheckForm(int64_t vocabulary) const;

  // Copies tokens [offset, offset + tokens.size()). InvalidArgument when one of them is not below
  // `vocabulary`: the message names it and its place. DataLoss when the file has become shorter.
  // REQUIRES: the range lies inside the shard.
  Status Read(int64_t offset, int64_t vocabulary, std::span<int32_t> tokens) const;

  // Asks the system to read ahead tokens [offset, offset + count); returns at once. REQUIRES: the
  // range lies inside the shard.
  void Expect(int64_t offset, int64_t count) const;

  // A digest of the shard's size, its first and its last bytes: cheap, and different for shards
  // that differ by accident.
  const std::string& Fingerprint() const { return fingerprint_; }

 private:
  explicit TokenShard(RandomAccessFile file) : file_(std::move(file)) {}

  RandomAccessFile file_;
  std::string fingerprint_;
  ShardFormat format_ = ShardFormat::kRaw;
  Headerless headerless_ = Headerless::kChecked;
  uint64_t data_offset_ = 0;
  int element_bytes_ = 2;
  int64_t size_ = 0;
};

// The bytes of an llm.c shard; for tools and tests. REQUIRES: tokens below 65536.
std::string FormatLlmCShard(std::span<const int32_t> tokens);

}  // namespace gp::formats
