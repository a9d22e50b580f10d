#include "corpus/preparation.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/failpoint.h"
#include "base/file.h"
#include "corpus/block_encoder.h"
#include "corpus/encoding_pipeline.h"
#include "corpus/preparation_state.h"
#include "corpus/shard_output.h"
#include "formats/sha256.h"

namespace gp::corpus {
namespace {

using formats::DatasetFile;
using formats::EndOfTextPlacement;
using formats::ShardFormat;

constexpr double kValFraction = 0.0005;
constexpr uint64_t kSourceBytesPerValToken = 40;
constexpr uint64_t kStateBytesMax = 64 << 20;

bool IsNanoGpt(const PreparationOptions& options) { return options.format == ShardFormat::kRaw; }

Status CheckSplit(const DocumentRules& documents) {
  if (documents.split_on.empty() || documents.split == Split::kFile) return OkStatus();
  return InvalidArgument(
      "plain text is split into documents either at lines (--split) or at a string (--split-on); "
      "give only one of them");
}

Status CheckOptions(const Tokenizer& tokenizer, const PreparationOptions& options) {
  const int64_t most = formats::ShardTokensMax(options.format);
  if (options.shard_tokens < 2 || options.shard_tokens > most) {
    return InvalidArgument("the shard size is {} tokens; expected 2 to {}", options.shard_tokens,
                           most);
  }
  if (options.val_tokens && (*options.val_tokens < 0 || *options.val_tokens > most)) {
    return InvalidArgument("{} tokens for validation: expected 0 to {}", *options.val_tokens, most);
  }
  if (options.val_tokens && IsNanoGpt(options)) {
    return InvalidArgument(
        "nanoGPT's format keeps a fraction of the documents for validation; use --val-fraction, "
        "not --val-tokens");
  }
  if (options.val_fraction && !IsNanoGpt(options)) {
    return InvalidArgument(
        "this format keeps a number of tokens for validation; use --val-tokens, not "
        "--val-fraction");
  }
  if (options.val_fraction && !(*options.val_fraction >= 0 && *options.val_fraction < 1)) {
    return InvalidArgument("the validation fraction is {}; expected a number from 0 to below 1",
                           *options.val_fraction);
  }
  RETURN_IF_ERROR(CheckSplit(options.documents));
  if (IsNanoGpt(options) && tokenizer.vocabulary_size() > 65536) {
    return InvalidArgument(
        "nanoGPT's format holds ids up to 65535, but this vocabulary has {}; use another --format",
        tokenizer.vocabulary_size());
  }
  return OkStatus();
}

// Places the end-of-text token as the published scripts do.
EndOfTextPlacement PlacementFor(const Tokenizer& tokenizer, const PreparationOptions& options) {
  if (!tokenizer.end_of_text().has_value()) return EndOfTextPlacement::kNone;
  return IsNanoGpt(options) ? EndOfTextPlacement::kAfter : EndOfTextPlacement::kBefore;
}

int64_t DefaultValTokens(const PreparationOptions& options) {
  uint64_t bytes = 0;
  for (const Source& source : options.sources) {
    if (source.path == kStandardInput) return options.shard_tokens;
    bytes += source.size_bytes;
  }
  const auto tokens = static_cast<int64_t>(bytes / kSourceBytesPerValToken);
  // One token is not enough for an evaluation.
  return tokens < 2 ? 0 : std::min(tokens, options.shard_tokens);
}

OutputRules OutputFor(const Tokenizer& tokenizer, const PreparationOptions& options) {
  return {
      .form = {options.format, tokenizer.vocabulary_size() > 65536 ? 4 : 2},
      .directory = options.directory,
      .shard_tokens = options.shard_tokens,
      .val_tokens = IsNanoGpt(options) ? 0 : options.val_tokens.value_or(DefaultValTokens(options)),
      .val_fraction = options.val_fraction.value_or(kValFraction)};
}

std::string DescribeSources(const std::vector<Source>& sources) {
  formats::Sha256 list;
  uint64_t bytes = 0;
  for (const Source& source : sources) {
    list.Update(fmt::format("{}\n{} {} {}\n", source.path, static_cast<int>(source.form),
                            source.size_bytes, source.modified_ns));
    bytes += source.size_bytes;
  }
  return fmt::format("{} from {} on, {} bytes, list {}", sources.size(),
                     SourceName(sources.front()), bytes, list.Finish().substr(0, 16));
}

std::vector<PreparationChoice> ChoicesOf(const Tokenizer& tokenizer,
                                         const PreparationOptions& options) {
  constexpr const char* kSplits[] = {"file", "blank-line", "line"};
  const OutputRules output = OutputFor(tokenizer, options);
  const DocumentRules& documents = options.documents;
  // Choices that older versions did not have are added only if set, so that their preparations can
  // resume.
  const std::string split_on =
      documents.split_on.empty() ? "" : fmt::format(", at '{}'", documents.split_on);
  return {{"tokenizer", fmt::format("{} {}{}", tokenizer.kind(), tokenizer.Fingerprint(),
                                    tokenizer.NamedEndOfText())},
          {"format", std::string(formats::ShardFormatName(options.format))},
          {"shard size", fmt::format("{}", output.shard_tokens)},
          {"validation",
           fmt::format("{} tokens, {} of the documents", output.val_tokens, output.val_fraction)},
          {"split", kSplits[static_cast<int>(documents.split)] + split_on},
          {"text field", documents.field + (documents.skip_null ? ", null skipped" : "")},
          {"list of sources", DescribeSources(options.sources)}};
}

// Locks the folder against a second preparation until the descriptor is closed.
StatusOr<FileDescriptor> LockDirectory(const std::string& directory) {
  RETURN_IF_ERROR(MakeDirectories(directory));
  FileDescriptor file(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "open directory", directory);
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "lock", directory);
  return FailedPrecondition(
      "another process is preparing data in {}; wait for it, or use another folder", directory);
}

// A crash during a replacement leaves the new file under a temporary name.
Status RemoveLeftovers(const std::string& directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    const bool leftover = name.starts_with(std::string(kPreparationFileName) + ".tmp-") ||
                          name.starts_with(std::string(formats::kDatasetFileName) + ".tmp-");
    if (leftover) RETURN_IF_ERROR(RemoveTree(JoinPath(directory, name)));
  }
  return OkStatus();
}

// The state of an earlier preparation in the folder; a fresh one if it is empty.
StatusOr<PreparationState> LoadState(const std::string& directory) {
  RETURN_IF_ERROR(RemoveLeftovers(directory));
  const std::string path = JoinPath(directory, kPreparationFileName);
  if (FileExists(path)) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kStateBytesMax));
    return ParsePreparationState(text);
  }
  if (FileExists(JoinPath(directory, formats::kDatasetFileName))) {
    return AlreadyExists(
        "{} holds a finished dataset; look at it with 'gpctl data inspect', or use another folder",
        directory);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory));
  if (names.empty()) return PreparationState();
  return FailedPrecondition("{} is not empty (it holds {}); use a new folder", directory,
                            names.front());
}

// One call of PrepareDataset, once it owns the folder.
class Preparation {
 public:
  Preparation(const Tokenizer& tokenizer, const PreparationOptions& options, PreparationState state,
              ShardOutput output)
      : options_(options),
        placement_(PlacementFor(tokenizer, options)),
        rules_(OutputFor(tokenizer, options)),
        encoder_(tokenizer, {options.documents, placement_, rules_.form.token_bytes}),
        state_(std::move(state)),
        output_(std::move(output)) {
    bool known = true;
    uint64_t end = 0;
    for (const Source& source : options.sources) {
      known = known && source.path != kStandardInput;
      source_ends_.push_back(end += source.size_bytes);
    }
    if (known) progress_.source_bytes_total = end;
    progress_.source_bytes = progress_.source_bytes_begun = BytesBefore(state_.position.source);
  }

  // Writes the state before the first shard is created.
  Status Begin() { return Save(); }

  Status Run(const ReportProgress& report, const std::stop_token& stop) {
    EncodingPipeline pipeline(options_.sources, encoder_,
                              {.threads = options_.threads, .from = state_.position});
    auto saved = std::chrono::steady_clock::now();
    while (!stop.stop_requested()) {
      ASSIGN_OR_RETURN(const auto result, pipeline.Next());
      if (!result.has_value()) return OkStatus();
      const size_t finished = output_.finished().size();
      RETURN_IF_ERROR(Add(*result));
      if (report) report(progress_);
      const auto now = std::chrono::steady_clock::now();
      if (now - saved < options_.interval && output_.finished().size() == finished) continue;
      RETURN_IF_ERROR(Save());
      saved = now;
    }
    RETURN_IF_ERROR(Save());
    return Cancelled("stopped after {} documents; the same command continues from there",
                     state_.documents);
  }

  StatusOr<DatasetFile> Finish() {
    RETURN_IF_ERROR(CheckSplits());
    RETURN_IF_ERROR(output_.Finish());
    const DatasetFile dataset = Describe();
    RETURN_IF_ERROR(
        WriteFileAtomically(PathOf(formats::kDatasetFileName), FormatDatasetFile(dataset)));
    Failpoint("prepare.before_end");
    if (unlink(PathOf(kPreparationFileName).c_str()) != 0) {
      return ErrnoStatus(errno, "remove", PathOf(kPreparationFileName));
    }
    RETURN_IF_ERROR(SyncDirectory(options_.directory));
    return dataset;
  }

 private:
  std::string PathOf(const char* name) const { return JoinPath(options_.directory, name); }

  // The bytes of all sources before this one.
  uint64_t BytesBefore(size_t source) const {
    return source == 0 ? 0 : source_ends_.at(source - 1);
  }

  Status Add(const EncodingPipeline::Result& result) {
    RETURN_IF_ERROR(output_.Write(result.encoded, state_.documents));
    for (const EncodedDocument& document : result.encoded.documents) {
      if (document.begins) ++state_.documents;
    }
    state_.empty_documents += result.encoded.empty_documents;
    state_.null_lines += result.encoded.null_lines;
    formats::AddSpelledEnds(result.encoded.spelled_ends, state_.spelled_ends);
    state_.text_bytes += result.text_bytes;
    state_.position = result.end;
    progress_.source_bytes = BytesBefore(result.source) + result.source_bytes;
    progress_.documents = state_.documents;
    progress_.text_bytes = state_.text_bytes;
    progress_.tokens = output_.Tokens("train") + output_.Tokens("val");
    return OkStatus();
  }

  // Syncs the tokens before it writes the state that refers to them.
  Status Save() {
    RETURN_IF_ERROR(output_.Sync());
    Failpoint("prepare.after_sync");
    state_.finished = output_.finished();
    state_.open = output_.open();
    RETURN_IF_ERROR(
        WriteFileAtomically(PathOf(kPreparationFileName), FormatPreparationState(state_)));
    Failpoint("prepare.after_save");
    return OkStatus();
  }

  Status CheckSplits() const {
    const int64_t train = output_.Tokens("train"), val = output_.Tokens("val");
    if (train > 0) return OkStatus();
    if (val == 0) return InvalidArgument("the sources contain no text");
    return InvalidArgument(
        "all {} tokens went to validation, which takes up to {}, so no training tokens are left; "
        "remove {} and start again with a smaller --val-tokens, or with more text",
        val, rules_.val_tokens, options_.directory);
  }

  DatasetFile Describe() const {
    const Tokenizer& tokenizer = encoder_.tokenizer();
    DatasetFile dataset{.form = rules_.form,
                        .tokenizer_kind = std::string(tokenizer.kind()),
                        .tokenizer_sha256 = tokenizer.Fingerprint(),
                        .vocabulary = tokenizer.vocabulary_size(),
                        .end_of_text = tokenizer.end_of_text(),
                        .placement = placement_,
                        .shards = output_.finished(),
                        .documents = state_.documents,
                        .empty_documents = state_.empty_documents,
                        .null_lines = state_.null_lines,
                        .text_bytes = state_.text_bytes,
                        .spelled_ends = state_.spelled_ends,
                        .created_by = options_.created_by};
    for (const Source& source : options_.sources) {
      dataset.sources.push_back({source.path, source.size_bytes});
    }
    return dataset;
  }

  const PreparationOptions& options_;
  const EndOfTextPlacement placement_;
  const OutputRules rules_;
  const BlockEncoder encoder_;
  PreparationState state_;
  ShardOutput output_;
  PreparationProgress progress_;
  std::vector<uint64_t> source_ends_;  // by source: the bytes of it and of all before it
};

}  // namespace

StatusOr<DatasetFile> PrepareDataset(const Tokenizer& tokenizer, const PreparationOptions& options,
                                     const ReportProgress& report, const std::stop_token& stop) {
  RETURN_IF_ERROR(CheckOptions(tokenizer, options));
  ASSIGN_OR_RETURN(const FileDescriptor lock, LockDirectory(options.directory));
  ASSIGN_OR_RETURN(PreparationState state, LoadState(options.directory));
  const std::vector<PreparationChoice> choices = ChoicesOf(tokenizer, options);
  if (!state.choices.empty()) RETURN_IF_ERROR(CheckSamePreparation(state.choices, choices));
  if (state.position.source > options.sources.size()) {
    return DataLoss("{} is damaged: it lists more sources than there are", kPreparationFileName);
  }
  state.choices = choices;
  ASSIGN_OR_RETURN(ShardOutput output, ShardOutput::Open(OutputFor(tokenizer, options), state));
  Preparation preparation(tokenizer, options, std::move(state), std::move(output));
  RETURN_IF_ERROR(preparation.Begin());
  RETURN_IF_ERROR(preparation.Run(report, stop));
  return preparation.Finish();
}

}  // namespace gp::corpus
