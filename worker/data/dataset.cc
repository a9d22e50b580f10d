#include "worker/data/dataset.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/machine/available_memory.h"
#include "base/text/thousands.h"
#include "corpus/source_content.h"
#include "formats/edge_fingerprint.h"
#include "formats/path_pattern.h"
#include "formats/sha256.h"
#include "formats/text_file.h"
#include "runspec/batch_plan.h"
#include "tokenizer/data/data_format.h"
#include "tokenizer/data/data_tokenizer.h"
#include "tokenizer/data/dataset_agreement.h"
#include "tokenizer/data/document_ends.h"
#include "tokenizer/parallel_encode.h"
#include "tokenizer/text_split.h"

namespace gp::engine {
namespace {

constexpr uint64_t kTextBytesMax = uint64_t{16} << 30;
// Peak memory for each byte of text while it is encoded and split: the byte, an int32 and a uint16.
constexpr uint64_t kMemoryPerTextByte = 7;
// Tokens of each shard that are checked against the vocabulary before the run starts.
constexpr int64_t kProbedTokens = 1 << 20;
constexpr int64_t kValidationTokensMax = 100'000'000;

StatusOr<std::string> ReadTexts(const std::vector<std::string>& paths,
                                const runspec::DataSpec& spec) {
  const auto available = static_cast<uint64_t>(ReadAvailableMemory().bytes);
  const uint64_t bytes_max = std::min(kTextBytesMax, available / kMemoryPerTextByte);
  std::string text;
  const auto append = [&text](std::string_view piece) {
    text += piece;
    return OkStatus();
  };
  const formats::TextCheck check = TextCheckOf(spec);
  for (const std::string& path : paths) {
    const Status status = formats::ReadTextFile(path, check, bytes_max - text.size(), append);
    if (!status.ok()) return WithContext(status, "data.text");
  }
  return text;
}

Status SplitTokens(const std::vector<int32_t>& tokens, double val_fraction, Dataset& dataset) {
  ASSIGN_OR_RETURN(const TextSplit split,
                   SplitText(static_cast<int64_t>(tokens.size()), val_fraction));
  const auto cut = tokens.begin() + split.train_tokens;
  dataset.train = MakeMemoryTokens({tokens.begin(), cut});
  if (val_fraction > 0) dataset.validation = MakeMemoryTokens({cut, tokens.end()});
  return OkStatus();
}

void WarnOfSpelledEnds(const formats::SpelledEnds& ends, std::string_view key) {
  for (const std::string& warning : SpelledEndWarnings(ends, key)) LogWarning(warning);
}

// The document separator, for the fingerprint of text.
std::string SplitOnText(const runspec::DataSpec& spec, const Tokenizer& tokenizer) {
  if (spec.split_on.empty() && spec.stream.empty()) return "";
  const std::string split_on = spec.split_on.empty() ? "" : " at " + spec.split_on;
  return split_on + tokenizer.NamedEndOfText();
}

int64_t SizeOf(const std::unique_ptr<TokenSource>& source) {
  return source == nullptr ? 0 : source->size();
}

StatusOr<Dataset> OpenText(const runspec::DataSpec& spec, int threads) {
  Dataset dataset;
  ASSIGN_OR_RETURN(const auto paths, formats::ExpandPatterns(spec.text, "data.text"));
  ASSIGN_OR_RETURN(const std::string text, ReadTexts(paths, spec));
  auto tokenizer = MakeTextTokenizer(spec.tokenizer, text);
  if (!tokenizer.ok() && spec.tokenizer == "chars") {
    return WithContext(tokenizer.status(), "data.text " + paths[0]);
  }
  RETURN_IF_ERROR(tokenizer.status());
  dataset.tokenizer = std::move(*tokenizer);
  ASSIGN_OR_RETURN(const std::vector<int32_t> tokens,
                   spec.split_on.empty()
                       ? EncodeInParallel(*dataset.tokenizer, text, threads)
                       : EncodeDocuments(*dataset.tokenizer, text, spec.split_on, threads));
  WarnOfSpelledEnds(SpelledEndsOf(*dataset.tokenizer, text, spec.split_on), "data.text");
  RETURN_IF_ERROR(SplitTokens(tokens, spec.val_fraction, dataset));
  dataset.fingerprint =
      formats::Sha256Hex(fmt::format("text {} {} {}", formats::Sha256Hex(text),
                                     dataset.tokenizer->Fingerprint(), spec.val_fraction) +
                         SplitOnText(spec, *dataset.tokenizer));
  dataset.description =
      fmt::format("text: {} training and {} validation tokens, {} ids ({})",
                  WithThousands(dataset.train->size()), WithThousands(SizeOf(dataset.validation)),
                  dataset.tokenizer->vocabulary_size(), spec.tokenizer);
  return dataset;
}

Status ProbeTokens(const formats::TokenShard& shard, int64_t vocabulary) {
  RETURN_IF_ERROR(shard.CheckForm(vocabulary));
  std::vector<int32_t> tokens(static_cast<size_t>(std::min(shard.size(), kProbedTokens)));
  return shard.Read(0, vocabulary, tokens);
}

struct OpenedShards {
  std::unique_ptr<TokenSource> tokens;
  std::string fingerprints;
};

StatusOr<OpenedShards> OpenShards(const std::vector<std::string>& paths, const std::string& key,
                                  int64_t vocabulary, formats::Headerless headerless) {
  OpenedShards opened;
  std::vector<formats::TokenShard> shards;
  for (const std::string& path : paths) {
    auto shard = formats::TokenShard::Open(path, headerless);
    if (!shard.ok()) return WithContext(shard.status(), key);
    if (const Status status = ProbeTokens(*shard, vocabulary); !status.ok()) {
      return WithContext(status, key);
    }
    opened.fingerprints += shard->Fingerprint();
    shards.push_back(std::move(*shard));
  }
  opened.tokens = MakeShardTokens(std::move(shards), vocabulary);
  RETURN_IF_ERROR(runspec::CheckHoldsATarget(key, opened.tokens->size()));
  return opened;
}

// The mixture's part of the fingerprint.
std::string MixtureText(const runspec::DataSpec& spec, const std::vector<int64_t>& entry_files) {
  if (spec.weights.empty()) return "";
  return fmt::format(" mixed {} of {}", fmt::join(spec.weights, " "), fmt::join(entry_files, " "));
}

StatusOr<Dataset> OpenTokens(const runspec::RunSpec& spec) {
  Dataset dataset;
  ASSIGN_OR_RETURN(const auto expanded, formats::ExpandEachPattern(spec.data.train, "data.train"));
  const std::vector<std::string>& train_paths = expanded.paths;
  dataset.entry_files = expanded.counts;
  ASSIGN_OR_RETURN(dataset.tokenizer, MakeShardTokenizer(spec.data.tokenizer, train_paths[0]));
  RETURN_IF_ERROR(CheckShardsAgree(train_paths, "data.train", *dataset.tokenizer));
  const int64_t vocabulary =
      spec.vocabulary_auto ? dataset.tokenizer->vocabulary_size() : spec.model.vocabulary;
  const formats::Headerless headerless = HeaderlessOf(spec.data);
  ASSIGN_OR_RETURN(OpenedShards train,
                   OpenShards(train_paths, "data.train", vocabulary, headerless));
  OpenedShards validation;
  if (!spec.data.val.empty()) {
    ASSIGN_OR_RETURN(const auto paths, formats::ExpandPatterns(spec.data.val, "data.val"));
    RETURN_IF_ERROR(CheckShardsAgree(paths, "data.val", *dataset.tokenizer));
    ASSIGN_OR_RETURN(validation, OpenShards(paths, "data.val", vocabulary, headerless));
  }
  dataset.train = std::move(train.tokens);
  dataset.validation = std::move(validation.tokens);
  dataset.fingerprint =
      formats::Sha256Hex(fmt::format("shards {} {} {}", train.fingerprints, validation.fingerprints,
                                     dataset.tokenizer->Fingerprint()) +
                         MixtureText(spec.data, dataset.entry_files));
  dataset.description = fmt::format(
      "shards: {} training tokens in {} files, {} validation tokens, vocabulary {} ({})",
      WithThousands(dataset.train->size()), dataset.train->parts().size(),
      WithThousands(SizeOf(dataset.validation)), vocabulary, spec.data.tokenizer);
  return dataset;
}

corpus::DocumentRules RulesOf(const runspec::DataSpec& spec) {
  return {.split = static_cast<corpus::Split>(spec.split),
          .split_on = spec.split_on,
          .field = spec.text_field,
          .field_key = "data.text_field"};
}

StatusOr<std::vector<corpus::Source>> SourcesOf(const std::vector<std::string>& paths,
                                                const runspec::DataSpec& spec,
                                                const std::string& key) {
  auto sources = corpus::ExpandSources(paths, corpus::FormOf(spec.format));
  if (!sources.ok()) return WithContext(sources.status(), key);
  RETURN_IF_ERROR(WithContext(corpus::CheckContents(*sources), key));
  return sources;
}

StatusOr<std::string> FingerprintOf(const std::vector<corpus::Source>& sources) {
  std::string fingerprints;
  for (const corpus::Source& source : sources) {
    ASSIGN_OR_RETURN(const auto file, formats::RandomAccessFile::Open(source.path));
    ASSIGN_OR_RETURN(const std::string fingerprint, formats::EdgeFingerprint(file));
    fingerprints += fmt::format("{} {} ", static_cast<int>(source.form), fingerprint);
  }
  return fingerprints;
}

// Reads a stream's validation text as a whole, because every evaluation uses it.
StatusOr<std::unique_ptr<TokenSource>> ReadValidation(const std::vector<corpus::Source>& sources,
                                                      const Tokenizer& tokenizer,
                                                      const corpus::DocumentRules& rules,
                                                      int threads) {
  corpus::EncodingRules encoding = StreamRules(tokenizer, rules);
  encoding.token_bytes = sizeof(int32_t);
  const corpus::BlockEncoder encoder(tokenizer, encoding);
  corpus::EncodingPipeline pipeline(sources, encoder, {.threads = threads});
  std::vector<int32_t> tokens;
  while (true) {
    auto result = pipeline.Next();
    if (!result.ok()) return WithContext(result.status(), "data.val");
    if (!result->has_value()) break;
    const std::string& bytes = (*result)->encoded.tokens;
    const size_t before = tokens.size();
    if (bytes.empty()) continue;
    tokens.resize(before + bytes.size() / sizeof(int32_t));
    std::memcpy(tokens.data() + before, bytes.data(), bytes.size());
    if (std::ssize(tokens) <= kValidationTokensMax) continue;
    return InvalidArgument(
        "data.val: the text has more than {} tokens, and each evaluation would read all of them; "
        "use less text",
        WithThousands(kValidationTokensMax));
  }
  RETURN_IF_ERROR(runspec::CheckHoldsATarget("data.val", std::ssize(tokens)));
  return MakeMemoryTokens(tokens);
}

StatusOr<Dataset> OpenStream(const runspec::DataSpec& spec, int threads) {
  Dataset dataset;
  const corpus::DocumentRules rules = RulesOf(spec);
  ASSIGN_OR_RETURN(dataset.tokenizer, MakeTextTokenizer(spec.tokenizer, ""));
  ASSIGN_OR_RETURN(auto sources, SourcesOf(spec.stream, spec, "data.stream"));
  ASSIGN_OR_RETURN(const std::string train, FingerprintOf(sources));
  std::string validation;
  if (!spec.val.empty()) {
    ASSIGN_OR_RETURN(const auto val_sources, SourcesOf(spec.val, spec, "data.val"));
    ASSIGN_OR_RETURN(validation, FingerprintOf(val_sources));
    ASSIGN_OR_RETURN(dataset.validation,
                     ReadValidation(val_sources, *dataset.tokenizer, rules, threads));
  }
  dataset.fingerprint = formats::Sha256Hex(fmt::format("stream {} {} {} {} {}", train, validation,
                                                       static_cast<int>(rules.split), rules.field,
                                                       dataset.tokenizer->Fingerprint()) +
                                           SplitOnText(spec, *dataset.tokenizer));
  dataset.description = fmt::format("stream: text of {} files, {} validation tokens, {} ids ({})",
                                    sources.size(), WithThousands(SizeOf(dataset.validation)),
                                    dataset.tokenizer->vocabulary_size(), spec.tokenizer);
  auto stream = std::make_unique<TokenStream>(std::move(sources), *dataset.tokenizer, rules);
  dataset.stream = stream.get();
  dataset.train = std::move(stream);
  return dataset;
}

}  // namespace

StatusOr<Dataset> OpenDataset(const runspec::RunSpec& spec, int threads) {
  if (!spec.data.stream.empty()) return OpenStream(spec.data, threads);
  return spec.data.text.empty() ? OpenTokens(spec) : OpenText(spec.data, threads);
}

}  // namespace gp::engine
