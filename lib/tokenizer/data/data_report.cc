#include "tokenizer/data/data_report.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "base/file.h"
#include "formats/path_pattern.h"
#include "formats/text_file.h"
#include "formats/token_shard.h"
#include "runspec/batch_plan.h"
#include "runspec/run_file.h"
#include "tokenizer/data/data_format.h"
#include "tokenizer/data/data_tokenizer.h"
#include "tokenizer/data/dataset_agreement.h"
#include "tokenizer/data/document_ends.h"
#include "tokenizer/data/shared_files.h"
#include "tokenizer/text_split.h"

namespace gp {
namespace {

using runspec::RunSpec;

constexpr int64_t kBlockTokens = 1 << 20;
constexpr double kTextPerPackedByte = 3;  // typical of gzip and zstd

// The beginning of a run's text, and how long all of it is.
struct TextBeginning {
  std::string text;
  double total_bytes = 0;
  bool complete = true;
};

// Removes a last character that is cut off.
void DropCutCharacter(std::string& text) {
  size_t end = text.size();
  while (end > 0 && (static_cast<unsigned char>(text[end - 1]) & 0xc0) == 0x80) --end;
  if (end > 0 && static_cast<unsigned char>(text[end - 1]) >= 0xc0) text.resize(end - 1);
}

// Appends as much of a file as fits; false when that is not all of it.
StatusOr<bool> AppendFile(const std::string& path, const formats::TextCheck& check,
                          uint64_t bytes_max, std::string& text) {
  bool all = true;
  const auto take = [&](std::string_view piece) {
    const size_t room = bytes_max - text.size();
    text += piece.substr(0, room);
    all = piece.size() <= room;
    return all ? OkStatus() : Cancelled("read enough");
  };
  const Status status = formats::ReadTextFile(path, check, UINT64_MAX, take);
  if (all && !status.ok()) return status;
  return all;
}

// Adds the text of a file. If not all of it fits, estimates the text's length from the file's size.
Status AddFile(const std::string& path, const formats::TextCheck& check, uint64_t bytes_max,
               TextBeginning& beginning) {
  const size_t before = beginning.text.size();
  ASSIGN_OR_RETURN(const bool all, AppendFile(path, check, bytes_max, beginning.text));
  if (all) {
    beginning.total_bytes += static_cast<double>(beginning.text.size() - before);
    return OkStatus();
  }
  beginning.complete = false;
  ASSIGN_OR_RETURN(const uint64_t size, FileSize(path));
  const double text_per_byte =
      path.ends_with(".gz") || path.ends_with(".zst") ? kTextPerPackedByte : 1;
  beginning.total_bytes += text_per_byte * static_cast<double>(size);
  return OkStatus();
}

StatusOr<TextBeginning> ReadBeginning(const std::vector<std::string>& paths,
                                      const formats::TextCheck& check, uint64_t bytes_max) {
  TextBeginning beginning;
  for (const std::string& path : paths) {
    if (const Status status = AddFile(path, check, bytes_max, beginning); !status.ok()) {
      return WithContext(status, "data.text");
    }
  }
  if (!beginning.complete) DropCutCharacter(beginning.text);
  return beginning;
}

// The number of tokens in the whole text, extrapolated from its beginning.
StatusOr<int64_t> CountTokens(const Tokenizer& tokenizer, const TextBeginning& beginning,
                              const std::string& split_on, uint64_t encoded_bytes_max,
                              bool& estimated) {
  std::string_view text = beginning.text;
  // Bytes and characters are counted as fast as they are read.
  const bool slow = tokenizer.kind() == "gpt2" || tokenizer.kind() == "bpe";
  if (slow && text.size() > encoded_bytes_max) {
    text = text.substr(0, tokenizer.CutAfter(text, encoded_bytes_max));
  }
  ASSIGN_OR_RETURN(const std::vector<int32_t> tokens,
                   split_on.empty() ? tokenizer.Encode(text)
                                    : EncodeDocuments(tokenizer, text, split_on, /*threads=*/1));
  estimated = !beginning.complete || text.size() < beginning.text.size();
  if (!estimated) return static_cast<int64_t>(tokens.size());
  const double share = beginning.total_bytes / static_cast<double>(text.size());
  return static_cast<int64_t>(static_cast<double>(tokens.size()) * share);
}

// Checks that the model has the tokenizer's ids, and returns how many the model has.
StatusOr<int64_t> CheckVocabulary(const Tokenizer& tokenizer, RunSpec spec, DataReport& report) {
  report.vocabulary = tokenizer.vocabulary_size();
  RETURN_IF_ERROR(runspec::ApplyVocabulary(report.vocabulary, spec));
  return spec.model.vocabulary;
}

// The tokens of each training file, and how many files each entry names.
struct TrainingFiles {
  std::vector<int64_t> tokens;
  std::vector<int64_t> entries;
};

// The training tokens of data.text count as one file.
StatusOr<TrainingFiles> InspectText(const RunSpec& spec, const InspectionLimits& limits,
                                    DataReport& report) {
  report.format = "text";
  ASSIGN_OR_RETURN(const auto paths, formats::ExpandPatterns(spec.data.text, "data.text"));
  report.train_files = static_cast<int64_t>(paths.size());
  ASSIGN_OR_RETURN(const TextBeginning beginning,
                   ReadBeginning(paths, TextCheckOf(spec.data), limits.text_bytes));
  const auto tokenizer = MakeTextTokenizer(spec.data.tokenizer, beginning.text);
  if (!tokenizer.ok() && spec.data.tokenizer == "chars") {
    return WithContext(tokenizer.status(), "data.text " + paths[0]);
  }
  RETURN_IF_ERROR(tokenizer.status());
  RETURN_IF_ERROR(CheckVocabulary(**tokenizer, spec, report).status());
  ASSIGN_OR_RETURN(const int64_t tokens, CountTokens(**tokenizer, beginning, spec.data.split_on,
                                                     limits.encoded_bytes, report.estimated));
  report.warnings = SpelledEndWarnings(
      SpelledEndsOf(**tokenizer, beginning.text, spec.data.split_on), "data.text");
  const std::string& split_on = spec.data.split_on;
  if (beginning.complete && !split_on.empty() &&
      beginning.text.find(split_on) == std::string::npos) {
    report.warnings.push_back(fmt::format(
        "'{}' (data.split_on) does not occur in the text, so all of it is one document", split_on));
  }
  ASSIGN_OR_RETURN(const TextSplit split, SplitText(tokens, spec.data.val_fraction));
  report.train_tokens = split.train_tokens;
  report.validation_tokens = split.validation_tokens;
  return TrainingFiles{{split.train_tokens}, {1}};
}

// Checks the tokens in evenly spaced blocks of the shard, or in all of it if `tokens_max` allows.
Status ScanTokens(const formats::TokenShard& shard, int64_t vocabulary, int64_t tokens_max,
                  DataReport& report) {
  RETURN_IF_ERROR(shard.CheckForm(vocabulary));
  const int64_t blocks = std::max<int64_t>(tokens_max / kBlockTokens, 1);
  const int64_t stride = std::max(kBlockTokens, shard.size() / blocks);
  if (stride > kBlockTokens) report.sampled = true;
  std::vector<int32_t> tokens;
  for (int64_t offset = 0; offset < shard.size(); offset += stride) {
    tokens.resize(static_cast<size_t>(std::min(kBlockTokens, shard.size() - offset)));
    RETURN_IF_ERROR(shard.Read(offset, vocabulary, tokens));
    const int32_t largest = *std::max_element(tokens.begin(), tokens.end());
    report.largest_id = std::max<int64_t>(report.largest_id, largest);
  }
  return OkStatus();
}

// Warns of a shard that ends with many tokens 0: a download that stopped, or a file that was
// allocated but not filled. The header of such a shard still declares all tokens.
Status WarnOfZeros(const formats::TokenShard& shard, const std::string& key, int64_t vocabulary,
                   DataReport& report) {
  constexpr int64_t kManyTokens = 16384, kTokensMin = 4096, kShare = 10;
  std::vector<int32_t> last(static_cast<size_t>(std::min(kManyTokens, shard.size())));
  RETURN_IF_ERROR(shard.Read(shard.size() - std::ssize(last), vocabulary, last));
  const auto other =
      std::find_if(last.rbegin(), last.rend(), [](int32_t token) { return token != 0; });
  const int64_t zeros = other - last.rbegin();
  if (zeros < kManyTokens && (zeros < kTokensMin || zeros * kShare < shard.size())) {
    return OkStatus();
  }
  report.warnings.push_back(fmt::format(
      "{}: {} ends with at least {} tokens that are 0, as after an interrupted download", key,
      shard.path(), zeros));
  return OkStatus();
}

// The number of tokens in each file. Scans about `tokens_each` tokens of each.
StatusOr<std::vector<int64_t>> ScanShards(const std::vector<std::string>& paths,
                                          const std::string& key, int64_t vocabulary,
                                          int64_t tokens_each, formats::Headerless headerless,
                                          DataReport& report) {
  std::vector<int64_t> sizes;
  for (const std::string& path : paths) {
    const auto shard = formats::TokenShard::Open(path, headerless);
    if (!shard.ok()) return WithContext(shard.status(), key);
    if (report.format.empty()) report.format = formats::ShardFormatName(shard->format());
    sizes.push_back(shard->size());
    Status status = ScanTokens(*shard, vocabulary, tokens_each, report);
    if (status.ok()) status = WarnOfZeros(*shard, key, vocabulary, report);
    if (!status.ok()) return WithContext(status, key);
  }
  return sizes;
}

// The tokens of each entry. `sizes` are those of all files; entry i names the next counts[i] files.
std::vector<int64_t> EntryTokens(const std::vector<int64_t>& sizes,
                                 const std::vector<int64_t>& counts) {
  std::vector<int64_t> tokens;
  auto size = sizes.begin();
  for (const int64_t count : counts) {
    tokens.push_back(std::accumulate(size, size + count, int64_t{0}));
    size += count;
  }
  return tokens;
}

StatusOr<TrainingFiles> InspectShards(const RunSpec& spec, const InspectionLimits& limits,
                                      DataReport& report) {
  ASSIGN_OR_RETURN(const auto expanded, formats::ExpandEachPattern(spec.data.train, "data.train"));
  const std::vector<std::string>& train = expanded.paths;
  report.train_files = static_cast<int64_t>(train.size());
  ASSIGN_OR_RETURN(const auto validation, formats::ExpandPatterns(spec.data.val, "data.val"));
  ASSIGN_OR_RETURN(const auto tokenizer, MakeShardTokenizer(spec.data.tokenizer, train[0]));
  RETURN_IF_ERROR(CheckShardsAgree(train, "data.train", *tokenizer));
  RETURN_IF_ERROR(CheckShardsAgree(validation, "data.val", *tokenizer));
  ASSIGN_OR_RETURN(const int64_t vocabulary, CheckVocabulary(*tokenizer, spec, report));
  const int64_t tokens_each =
      limits.tokens / static_cast<int64_t>(train.size() + validation.size());
  const formats::Headerless headerless = HeaderlessOf(spec.data);
  ASSIGN_OR_RETURN(const auto sizes,
                   ScanShards(train, "data.train", vocabulary, tokens_each, headerless, report));
  ASSIGN_OR_RETURN(const auto validation_sizes,
                   ScanShards(validation, "data.val", vocabulary, tokens_each, headerless, report));
  report.train_tokens = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  report.validation_tokens =
      std::accumulate(validation_sizes.begin(), validation_sizes.end(), int64_t{0});
  if (!validation.empty()) {
    RETURN_IF_ERROR(runspec::CheckHoldsATarget("data.val", report.validation_tokens));
  }
  const std::string shared = DescribeSharedFiles(train, validation, "data.train");
  if (!shared.empty()) report.warnings.push_back(shared);
  if (!spec.data.weights.empty()) report.entry_tokens = EntryTokens(sizes, expanded.counts);
  return TrainingFiles{sizes, expanded.counts};
}

}  // namespace

StatusOr<DataReport> InspectData(const RunSpec& spec, const InspectionLimits& limits) {
  DataReport report;
  const bool text = !spec.data.text.empty();
  ASSIGN_OR_RETURN(const TrainingFiles files,
                   text ? InspectText(spec, limits, report) : InspectShards(spec, limits, report));
  RunSpec least = spec;
  if (spec.batch.micro_batch_auto) least.batch.micro_batch = 1;
  ASSIGN_OR_RETURN(const runspec::BatchPlan plan, runspec::PlanBatch(spec));
  if (spec.data.weights.empty()) {
    RETURN_IF_ERROR(runspec::CheckFilesHoldABatch(files.tokens, least, plan));
  } else {
    RETURN_IF_ERROR(runspec::CheckEntriesHoldABatch(files.tokens, files.entries, least, plan));
  }
  return report;
}

}  // namespace gp
