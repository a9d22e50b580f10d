#include "corpus/shard_output.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/mix_bits.h"
#include "formats/file_digest.h"

namespace gp::corpus {
namespace {

constexpr char kTrain[] = "train", kVal[] = "val";

// Uniform in [0, 1). Draw 2357 (nanoGPT's seed), counted from 1, of splitmix64 seeded with the
// document's number.
double DrawOf(int64_t document) {
  const uint64_t bits = MixBits(static_cast<uint64_t>(document) + 2356 * kMixBitsStep);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace

StatusOr<ShardOutput> ShardOutput::Open(const OutputRules& rules, const PreparationState& state) {
  ShardOutput output(rules);
  output.finished_ = state.finished;
  for (const OpenShard& shard : state.open) {
    const bool known = shard.split == kTrain || shard.split == kVal;
    if (!known || shard.name != output.NameOf(shard.split)) {
      return DataLoss("{}: unknown shard '{}'; start again in another folder", kPreparationFileName,
                      shard.name);
    }
    ASSIGN_OR_RETURN(formats::ShardWriter writer,
                     formats::ShardWriter::Resume(JoinPath(rules.directory, shard.name), rules.form,
                                                  shard.tokens));
    output.writers_.emplace(shard.split, std::move(writer));
  }
  return output;
}

std::string ShardOutput::NextSplit() const {
  return finished_.empty() && rules_.val_tokens > 0 ? kVal : kTrain;
}

// Names as in the published scripts; the prefix is the folder's name.
std::string ShardOutput::NameOf(const std::string& split) const {
  if (!one_sequence()) return split + ".bin";
  const char* ending = rules_.form.format == formats::ShardFormat::kNpy ? "npy" : "bin";
  return fmt::format("{}_{}_{:06}.{}", BaseNameOf(AbsolutePath(rules_.directory, "/")), split,
                     finished_.size(), ending);
}

// How many more tokens the split's open shard takes.
int64_t ShardOutput::Room(const std::string& split) const {
  if (!one_sequence()) return std::numeric_limits<int64_t>::max();
  const auto writer = writers_.find(split);
  const int64_t size = writer == writers_.end() ? 0 : writer->second.size();
  return (split == kVal ? rules_.val_tokens : rules_.shard_tokens) - size;
}

Status ShardOutput::Append(const std::string& split, std::string_view tokens) {
  auto writer = writers_.find(split);
  if (writer == writers_.end()) {
    const std::string path = JoinPath(rules_.directory, NameOf(split));
    ASSIGN_OR_RETURN(formats::ShardWriter created, formats::ShardWriter::Create(path, rules_.form));
    writer = writers_.emplace(split, std::move(created)).first;
  }
  return writer->second.Append(tokens);
}

Status ShardOutput::Write(const EncodedBlock& block, int64_t documents_before) {
  if (!one_sequence()) return WriteDocuments(block, documents_before);
  const auto token_bytes = static_cast<int64_t>(rules_.form.token_bytes);
  std::string_view rest = block.tokens;
  while (!rest.empty()) {
    const std::string split = NextSplit();
    const int64_t here = std::min(Room(split), std::ssize(rest) / token_bytes);
    const auto bytes = static_cast<size_t>(here * token_bytes);
    RETURN_IF_ERROR(Append(split, rest.substr(0, bytes)));
    rest.remove_prefix(bytes);
    if (Room(split) == 0) RETURN_IF_ERROR(FinishShard(split));
  }
  return OkStatus();
}

// Consecutive documents of one split are written at once.
Status ShardOutput::WriteDocuments(const EncodedBlock& block, int64_t documents_before) {
  std::string_view rest = block.tokens;
  std::string split;
  size_t bytes = 0;
  int64_t begun = documents_before;
  const auto write = [&]() -> Status {
    if (bytes == 0) return OkStatus();
    RETURN_IF_ERROR(Append(split, rest.substr(0, bytes)));
    rest.remove_prefix(std::exchange(bytes, 0));
    return OkStatus();
  };
  for (const EncodedDocument& document : block.documents) {
    if (document.begins) ++begun;
    const std::string its_split = DrawOf(begun - 1) < rules_.val_fraction ? kVal : kTrain;
    if (its_split != split) RETURN_IF_ERROR(write());
    split = its_split;
    bytes += static_cast<size_t>(document.tokens) * static_cast<size_t>(rules_.form.token_bytes);
  }
  return write();
}

Status ShardOutput::FinishShard(const std::string& split) {
  formats::ShardWriter& writer = writers_.at(split);
  Failpoint("prepare.before_finish");
  RETURN_IF_ERROR(writer.Finish());
  Failpoint("prepare.after_finish");
  ASSIGN_OR_RETURN(const std::string digest,
                   formats::DigestOfFile(writer.path(), formats::DigestKind::kXxh3));
  finished_.push_back({BaseNameOf(writer.path()), split, writer.size(), digest});
  writers_.erase(split);
  return OkStatus();
}

Status ShardOutput::Sync() {
  for (auto& [split, writer] : writers_) RETURN_IF_ERROR(writer.Sync());
  return OkStatus();
}

Status ShardOutput::Finish() {
  while (!writers_.empty()) RETURN_IF_ERROR(FinishShard(writers_.begin()->first));
  return OkStatus();
}

std::vector<OpenShard> ShardOutput::open() const {
  std::vector<OpenShard> open;
  for (const auto& [split, writer] : writers_) {
    open.push_back({BaseNameOf(writer.path()), split, writer.size()});
  }
  return open;
}

int64_t ShardOutput::Tokens(std::string_view split) const {
  int64_t tokens = 0;
  for (const formats::DatasetShard& shard : finished_)
    tokens += shard.split == split ? shard.tokens : 0;
  for (const auto& [name, writer] : writers_) tokens += name == split ? writer.size() : 0;
  return tokens;
}

}  // namespace gp::corpus
