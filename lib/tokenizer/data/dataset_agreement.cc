#include "tokenizer/data/dataset_agreement.h"

#include <map>
#include <optional>

#include "base/file.h"
#include "formats/dataset_file.h"
#include "formats/token_shard.h"

namespace gp {
namespace {

using formats::DatasetFile;

std::string Describe(std::string_view kind, int64_t vocabulary, const std::string& sha256) {
  return fmt::format("{} ({} ids, sha256 {})", kind, vocabulary, sha256.substr(0, 12));
}

Status CheckTokenizer(const DatasetFile& dataset, const std::string& folder, const std::string& key,
                      const Tokenizer& tokenizer) {
  if (dataset.tokenizer_sha256 == tokenizer.Fingerprint()) return OkStatus();
  const bool named = dataset.tokenizer_kind == "bytes" || dataset.tokenizer_kind == "gpt2";
  return InvalidArgument(
      "{}: {} was made with the tokenizer {}, but this run's is {}; set data.tokenizer: {}", key,
      folder, Describe(dataset.tokenizer_kind, dataset.vocabulary, dataset.tokenizer_sha256),
      Describe(tokenizer.kind(), tokenizer.vocabulary_size(), tokenizer.Fingerprint()),
      named ? dataset.tokenizer_kind : "the file that the data was prepared with");
}

Status CheckSize(const DatasetFile& dataset, const std::string& path, const std::string& key) {
  const formats::DatasetShard* expected = dataset.Find(BaseNameOf(path));
  const auto shard = formats::TokenShard::Open(path, formats::Headerless::kUint16);
  if (!shard.ok()) return WithContext(shard.status(), key);
  if (shard->size() == expected->tokens) return OkStatus();
  return InvalidArgument(
      "{}: {} holds {} tokens, but {} beside it says {}; see 'gpctl data verify {}'", key, path,
      shard->size(), formats::kDatasetFileName, expected->tokens, DirectoryOf(path));
}

}  // namespace

Status CheckShardsAgree(const std::vector<std::string>& shards, const std::string& key,
                        const Tokenizer& tokenizer) {
  std::map<std::string, std::optional<DatasetFile>> datasets;  // by folder
  for (const std::string& path : shards) {
    const std::string folder = DirectoryOf(path);
    const auto [dataset, first] = datasets.try_emplace(folder);
    if (first && FileExists(JoinPath(folder, formats::kDatasetFileName))) {
      auto read = formats::ReadDatasetFile(folder);
      if (!read.ok()) return WithContext(read.status(), key);
      dataset->second = *std::move(read);
    }
    if (!dataset->second || dataset->second->Find(BaseNameOf(path)) == nullptr) continue;
    RETURN_IF_ERROR(CheckTokenizer(*dataset->second, folder, key, tokenizer));
    RETURN_IF_ERROR(CheckSize(*dataset->second, path, key));
  }
  return OkStatus();
}

}  // namespace gp
