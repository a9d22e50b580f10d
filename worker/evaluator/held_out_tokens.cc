#include "worker/evaluator/held_out_tokens.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/config_problem.h"
#include "base/file.h"
#include "formats/path_pattern.h"
#include "formats/text_file.h"
#include "formats/token_shard.h"
#include "runspec/run_file.h"
#include "tokenizer/parallel_encode.h"
#include "worker/data/dataset.h"

namespace gp::engine {
namespace {

constexpr uint64_t kTextBytesMax = uint64_t{4} << 30;
constexpr uint64_t kRunFileBytesMax = uint64_t{1} << 20;

bool IsShard(const std::string& path) { return path.ends_with(".bin") || path.ends_with(".npy"); }

// A checkpoint is in RUN/checkpoints/NAME.
StatusOr<std::optional<runspec::RunSpec>> SpecOf(const std::string& checkpoint) {
  const std::string path = JoinPath(DirectoryOf(DirectoryOf(checkpoint)), "resolved.yaml");
  if (!FileExists(path)) return std::nullopt;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kRunFileBytesMax));
  const auto loaded = runspec::LoadRunFile(text, path);
  if (loaded.spec) return *loaded.spec;
  return InvalidArgument("{}", RenderProblems(loaded.problems));
}

StatusOr<std::unique_ptr<TokenSource>> ReadShards(const std::vector<std::string>& paths,
                                                  int64_t vocabulary,
                                                  formats::Headerless headerless) {
  std::vector<formats::TokenShard> shards;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(formats::TokenShard shard, formats::TokenShard::Open(path, headerless));
    RETURN_IF_ERROR(shard.CheckForm(vocabulary));
    shards.push_back(std::move(shard));
  }
  return MakeShardTokens(std::move(shards), vocabulary);
}

StatusOr<std::unique_ptr<TokenSource>> ReadTexts(const std::vector<std::string>& paths,
                                                 const formats::TextCheck& check,
                                                 const Tokenizer& tokenizer, int threads) {
  std::string text;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const std::string more,
                     formats::ReadTextFile(path, check, kTextBytesMax - text.size()));
    text += more;
  }
  const auto tokens = EncodeInParallel(tokenizer, text, threads);
  if (!tokens.ok()) return WithContext(tokens.status(), paths[0]);
  return MakeMemoryTokens(*tokens);
}

StatusOr<std::unique_ptr<TokenSource>> ReadFiles(const HeldOutFiles& files,
                                                 const Tokenizer& tokenizer, int64_t vocabulary,
                                                 int threads) {
  ASSIGN_OR_RETURN(const auto paths, formats::ExpandPatterns(files.paths, "--file"));
  const bool any_text = files.format == runspec::DataFormat::kText;
  const bool uint16 = files.format == runspec::DataFormat::kUint16;
  const auto shards =
      uint16 ? std::ssize(paths) : std::count_if(paths.begin(), paths.end(), IsShard);
  const formats::TextCheck check{.any_content = any_text, .setting = "--as txt"};
  if (shards == 0 || any_text) return ReadTexts(paths, check, tokenizer, threads);
  const auto headerless = uint16 ? formats::Headerless::kUint16 : formats::Headerless::kChecked;
  if (shards == std::ssize(paths)) return ReadShards(paths, vocabulary, headerless);
  return InvalidArgument(
      "--file: {} is a shard of tokens and another file is text; name files of "
      "one kind",
      *std::find_if(paths.begin(), paths.end(), IsShard));
}

// The split that the run evaluates on.
StatusOr<std::unique_ptr<TokenSource>> OwnSplit(const runspec::RunSpec& spec,
                                                const Tokenizer& tokenizer, int threads) {
  ASSIGN_OR_RETURN(Dataset dataset, OpenDataset(spec, threads));
  if (dataset.tokenizer->Fingerprint() != tokenizer.Fingerprint()) {
    return FailedPrecondition(
        "the run's data has changed, and no longer fits the checkpoint's tokenizer; name a text "
        "with --file");
  }
  if (dataset.validation != nullptr) return std::move(dataset.validation);
  return InvalidArgument("the run has no validation split; name a text or shards with --file");
}

}  // namespace

StatusOr<HeldOutTokens> HeldOutTokens::Open(const HeldOutFiles& files,
                                            const std::string& checkpoint,
                                            const Tokenizer& tokenizer,
                                            const runspec::ModelShape& shape, int threads) {
  ASSIGN_OR_RETURN(const auto spec, SpecOf(checkpoint));
  if (files.paths.empty() && !spec) {
    return InvalidArgument("{} does not name its data; name a text or shards with --file",
                           checkpoint);
  }
  HeldOutTokens held_out;
  held_out.sequence_ = spec ? std::min(spec->batch.sequence, shape.context) : shape.context;
  ASSIGN_OR_RETURN(held_out.tokens_, files.paths.empty()
                                         ? OwnSplit(*spec, tokenizer, threads)
                                         : ReadFiles(files, tokenizer, shape.vocabulary, threads));
  if (held_out.tokens_->size() < 2) {
    return InvalidArgument("the data has {} tokens; evaluation needs at least 2",
                           held_out.tokens_->size());
  }
  // A short text needs no long windows.
  held_out.sequence_ = std::min(held_out.sequence_, held_out.tokens_->size() - 1);
  return held_out;
}

}  // namespace gp::engine
