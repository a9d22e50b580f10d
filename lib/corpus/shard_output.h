// ShardOutput: writes a preparation's tokens: the shards of one of the published layouts, in one
// folder. Owned by a preparation; used by its thread only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "corpus/block_encoder.h"
#include "corpus/preparation_state.h"
#include "formats/dataset_file.h"
#include "formats/shard_writer.h"

namespace gp::corpus {

struct OutputRules {
  formats::ShardForm form;
  std::string directory;
  // llm.c and build-nanogpt: one sequence of tokens, cut into shards of this size; the first shard
  // is for validation.
  int64_t shard_tokens = 0;
  int64_t val_tokens = 0;  // of the first shard; 0: none
  // nanoGPT: a document goes to val.bin with this probability, and to train.bin otherwise. The draw
  // depends only on the document's number, so it is the same after a restart.
  double val_fraction = 0;
};

class ShardOutput {
 public:
  // Resumes from `state`, or starts fresh if it is empty. DataLoss when a file holds less than the
  // state says.
  static StatusOr<ShardOutput> Open(const OutputRules& rules, const PreparationState& state);

  // `documents_before`: how many documents began before this block.
  Status Write(const EncodedBlock& block, int64_t documents_before);

  // After Sync, everything written so far survives a crash.
  Status Sync();
  Status Finish();

  const std::vector<formats::DatasetShard>& finished() const { return finished_; }
  std::vector<OpenShard> open() const;
  int64_t Tokens(std::string_view split) const;

 private:
  explicit ShardOutput(const OutputRules& rules) : rules_(rules) {}

  bool one_sequence() const { return rules_.form.format != formats::ShardFormat::kRaw; }
  std::string NextSplit() const;
  std::string NameOf(const std::string& split) const;
  int64_t Room(const std::string& split) const;
  Status WriteDocuments(const EncodedBlock& block, int64_t documents_before);
  Status Append(const std::string& split, std::string_view tokens);
  Status FinishShard(const std::string& split);

  const OutputRules rules_;
  std::vector<formats::DatasetShard> finished_;
  std::map<std::string, formats::ShardWriter> writers_;  // of the shards being written, by split
};

}  // namespace gp::corpus
