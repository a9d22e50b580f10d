// ShardWriter: writes a file of token ids in one of the three published forms
// (docs/formats/token-shards.md). Tokens go to `<path>.partial`; Finish gives the file its header
// and its name. After a crash, Resume continues the shard from what was durable at a Sync. Belongs
// to one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/status.h"
#include "formats/token_shard.h"

namespace gp::formats {

// Format and element size of a shard.
struct ShardForm {
  ShardFormat format = ShardFormat::kLlmC;
  int token_bytes = 2;  // or 4; little endian
};

// The header before `tokens` tokens. Its length depends on the format only.
std::string ShardHeader(ShardForm form, int64_t tokens);

// The most tokens that a header can declare.
int64_t ShardTokensMax(ShardFormat format);

class ShardWriter {
 public:
  // Begins `path`; an unfinished shard of that name is replaced.
  static StatusOr<ShardWriter> Create(const std::string& path, ShardForm form);

  // Continues after the first `tokens` tokens of a shard that was begun, or even finished; cuts off
  // later ones. DataLoss when it has fewer.
  static StatusOr<ShardWriter> Resume(const std::string& path, ShardForm form, int64_t tokens);

  // `tokens` holds whole tokens in the form's element size, little-endian.
  Status Append(std::string_view tokens);

  // After Sync, everything appended so far survives a crash.
  Status Sync();

  // Writes the header, syncs the file and gives it its name. Nothing can be appended after it.
  Status Finish();

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  // tokens

 private:
  ShardWriter(std::string path, ShardForm form, FileDescriptor file, int64_t size)
      : path_(std::move(path)), form_(form), file_(std::move(file)), size_(size) {}

  std::string path_;
  ShardForm form_;
  FileDescriptor file_;
  int64_t size_ = 0;
};

// Path of an unfinished shard.
std::string PartialShardPath(const std::string& path);

}  // namespace gp::formats
