#include "corpus/dataset_check.h"

#include <algorithm>
#include <vector>

#include "base/file.h"
#include "formats/file_digest.h"
#include "formats/token_shard.h"

namespace gp::corpus {
namespace {

constexpr int64_t kBlockTokens = 1 << 20;

StatusOr<formats::TokenShard> OpenShard(const std::string& path) {
  auto shard = formats::TokenShard::Open(path, formats::Headerless::kUint16);
  if (shard.ok() || shard.status().code() == StatusCode::kNotFound) return shard;
  return DataLoss("{}", Message(shard.status()));
}

Status VerifyShard(const std::string& path, const formats::DatasetFile& dataset,
                   const formats::DatasetShard& expected, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const formats::TokenShard shard, OpenShard(path));
  if (shard.format() != dataset.form.format || shard.size() != expected.tokens) {
    return DataLoss("{} holds {} tokens in the form {}, but {} says {} in the form {}", path,
                    shard.size(), formats::ShardFormatName(shard.format()),
                    formats::kDatasetFileName, expected.tokens,
                    formats::ShardFormatName(dataset.form.format));
  }
  ASSIGN_OR_RETURN(const std::string digest,
                   formats::DigestOfFile(path, formats::DigestKind::kXxh3, stop));
  if (digest != expected.xxh3) {
    return DataLoss("{} has changed since it was written: its XXH3-128 is {}, but {} says {}", path,
                    digest, formats::kDatasetFileName, expected.xxh3);
  }
  const auto largest = LargestToken(shard, dataset.vocabulary, stop);
  if (largest.status().code() != StatusCode::kInvalidArgument) return largest.status();
  return DataLoss("{}", Message(largest.status()));
}

}  // namespace

StatusOr<int64_t> LargestToken(const formats::TokenShard& shard, int64_t vocabulary,
                               const std::stop_token& stop) {
  int64_t largest = -1;
  std::vector<int32_t> tokens;
  for (int64_t offset = 0; offset < shard.size(); offset += kBlockTokens) {
    if (stop.stop_requested()) return Cancelled("stopped");
    tokens.resize(static_cast<size_t>(std::min(kBlockTokens, shard.size() - offset)));
    RETURN_IF_ERROR(shard.Read(offset, vocabulary, tokens));
    largest = std::max<int64_t>(largest, *std::max_element(tokens.begin(), tokens.end()));
  }
  return largest;
}

StatusOr<formats::DatasetFile> VerifyDataset(const std::string& directory,
                                             const std::stop_token& stop) {
  ASSIGN_OR_RETURN(formats::DatasetFile dataset, formats::ReadDatasetFile(directory));
  for (const formats::DatasetShard& shard : dataset.shards) {
    RETURN_IF_ERROR(VerifyShard(JoinPath(directory, shard.name), dataset, shard, stop));
  }
  return dataset;
}

}  // namespace gp::corpus
