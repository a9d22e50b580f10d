#include "worker/engine/data/dataset.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "formats/sha256.h"
#include "runspec/count.h"
#include "tokenizer/byte_tokenizer.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/gpt2_tokenizer.h"
#include "tokenizer/parallel_encode.h"
#include "worker/engine/data/path_pattern.h"

namespace gp::engine {
namespace {

constexpr uint64_t kTextBytesMax = uint64_t{16} << 30;
// Tokens of each shard that are checked against the vocabulary before the run starts.
constexpr int64_t kProbedTokens = 1 << 20;

// Compressed files read as text would train a model of noise.
Status RefuseCompressed(const std::string& path, std::string_view text) {
  const bool gzip = text.starts_with("\x1f\x8b"), zstd = text.starts_with("\x28\xb5\x2f\xfd");
  if (!gzip && !zstd) return OkStatus();
  return InvalidArgument("data.text: {} is compressed; unpack it first, for example with '{} {}'",
                         path, gzip ? "gzip -dk" : "zstd -d", path);
}

StatusOr<std::string> ReadTexts(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const std::string part, ReadFile(path, kTextBytesMax));
    RETURN_IF_ERROR(RefuseCompressed(path, part));
    text += part;
  }
  return text;
}

// `text` is what a chars tokenizer learns its characters from; token shards have none.
StatusOr<std::unique_ptr<Tokenizer>> MakeTokenizer(const std::string& kind,
                                                   std::string_view text = "") {
  if (kind == "chars") return CharTokenizer::FromText(text);
  if (kind == "gpt2") return Gpt2Tokenizer::Installed();
  return std::make_unique<ByteTokenizer>();
}

Status SplitText(const std::vector<int32_t>& tokens, double val_fraction, Dataset& dataset) {
  // As nanoGPT splits: the first floor(n * (1 - fraction)) train.
  const auto train_count =
      static_cast<std::ptrdiff_t>(static_cast<double>(tokens.size()) * (1.0 - val_fraction));
  const auto cut = tokens.begin() + train_count;
  dataset.train = MakeMemoryTokens({tokens.begin(), cut});
  if (val_fraction > 0) dataset.validation = MakeMemoryTokens({cut, tokens.end()});
  const bool too_short =
      dataset.train->size() < 2 || (val_fraction > 0 && dataset.validation->size() < 2);
  if (!too_short) return OkStatus();
  return InvalidArgument(
      "data.text: {} tokens are too few to split into training and validation; give more text",
      tokens.size());
}

int64_t SizeOf(const std::unique_ptr<TokenSource>& source) {
  return source == nullptr ? 0 : source->size();
}

StatusOr<Dataset> OpenText(const runspec::DataSpec& spec, int threads) {
  Dataset dataset;
  ASSIGN_OR_RETURN(const auto paths, ExpandPatterns(spec.text, "data.text"));
  ASSIGN_OR_RETURN(const std::string text, ReadTexts(paths));
  auto tokenizer = MakeTokenizer(spec.tokenizer, text);
  if (!tokenizer.ok()) return WithContext(tokenizer.status(), "data.text " + paths[0]);
  dataset.tokenizer = std::move(*tokenizer);
  ASSIGN_OR_RETURN(const std::vector<int32_t> tokens,
                   EncodeInParallel(*dataset.tokenizer, text, threads));
  RETURN_IF_ERROR(SplitText(tokens, spec.val_fraction, dataset));
  dataset.fingerprint =
      formats::Sha256Hex(fmt::format("text {} {} {}", formats::Sha256Hex(text),
                                     dataset.tokenizer->Fingerprint(), spec.val_fraction));
  dataset.description = fmt::format("text: {} training and {} validation tokens, {} ids ({})",
                                    runspec::FormatCount(dataset.train->size()),
                                    runspec::FormatCount(SizeOf(dataset.validation)),
                                    dataset.tokenizer->vocabulary_size(), spec.tokenizer);
  return dataset;
}

Status ProbeTokens(const formats::TokenShard& shard, int64_t vocabulary) {
  std::vector<int32_t> tokens(static_cast<size_t>(std::min(shard.size(), kProbedTokens)));
  return shard.Read(0, vocabulary, tokens);
}

struct OpenedShards {
  std::unique_ptr<TokenSource> tokens;
  std::string fingerprints;
};

StatusOr<OpenedShards> OpenShards(const std::vector<std::string>& patterns, const std::string& key,
                                  int64_t vocabulary) {
  ASSIGN_OR_RETURN(const auto paths, ExpandPatterns(patterns, key));
  OpenedShards opened;
  std::vector<formats::TokenShard> shards;
  for (const std::string& path : paths) {
    auto shard = formats::TokenShard::Open(path);
    if (!shard.ok()) return WithContext(shard.status(), key);
    if (const Status status = ProbeTokens(*shard, vocabulary); !status.ok()) {
      return WithContext(status, key);
    }
    opened.fingerprints += shard->Fingerprint();
    shards.push_back(std::move(*shard));
  }
  opened.tokens = MakeShardTokens(std::move(shards), vocabulary);
  if (opened.tokens->size() >= 2) return opened;
  return InvalidArgument("{}: the shards hold {} tokens, too few to learn from", key,
                         opened.tokens->size());
}

StatusOr<Dataset> OpenTokens(const runspec::RunSpec& spec) {
  Dataset dataset;
  ASSIGN_OR_RETURN(dataset.tokenizer, MakeTokenizer(spec.data.tokenizer));
  const int64_t vocabulary =
      spec.vocabulary_auto ? dataset.tokenizer->vocabulary_size() : spec.model.vocabulary;
  ASSIGN_OR_RETURN(OpenedShards train, OpenShards(spec.data.train, "data.train", vocabulary));
  OpenedShards validation;
  if (!spec.data.val.empty()) {
    ASSIGN_OR_RETURN(validation, OpenShards(spec.data.val, "data.val", vocabulary));
  }
  dataset.train = std::move(train.tokens);
  dataset.validation = std::move(validation.tokens);
  dataset.fingerprint =
      formats::Sha256Hex(fmt::format("shards {} {} {}", train.fingerprints, validation.fingerprints,
                                     dataset.tokenizer->Fingerprint()));
  dataset.description = fmt::format(
      "shards: {} training tokens in {} files, {} validation tokens, vocabulary {} ({})",
      runspec::FormatCount(dataset.train->size()), dataset.train->parts().size(),
      runspec::FormatCount(SizeOf(dataset.validation)), vocabulary, spec.data.tokenizer);
  return dataset;
}

}  // namespace

StatusOr<Dataset> OpenDataset(const runspec::RunSpec& spec, int threads) {
  return spec.data.text.empty() ? OpenTokens(spec) : OpenText(spec.data, threads);
}

}  // namespace gp::engine
