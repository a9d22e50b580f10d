// gpctl data inspect, verify.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <stop_token>

#include "base/file.h"
#include "base/text/excerpt.h"
#include "client/gpctl/commands/data/data.h"
#include "client/gpctl/data/data_tokenizer_choice.h"
#include "client/gpctl/render/dataset_text.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/terminal/number_text.h"
#include "corpus/dataset_check.h"
#include "formats/token_shard.h"

namespace gp::gpctl {
namespace {

constexpr int64_t kShownTokens = 64;
constexpr size_t kShownCharacters = 300;

struct DatasetOptions {
  std::string path;
  std::string tokenizer;  // to show a shard's text; empty: do not show it
};

struct ShardFacts {
  int64_t largest_id = -1;
  std::string beginning;  // the first tokens as text; empty without a tokenizer
};

StatusOr<ShardFacts> LookAt(const formats::TokenShard& shard, const DatasetOptions& options,
                            Session& session, const std::stop_token& stop) {
  ShardFacts facts;
  int64_t vocabulary = int64_t{1} << 31;
  if (!options.tokenizer.empty()) {
    ASSIGN_OR_RETURN(const auto tokenizer,
                     ChooseTokenizer(options.tokenizer, session.console().working_directory));
    vocabulary = tokenizer->vocabulary_size();
    std::vector<int32_t> tokens(static_cast<size_t>(std::min(shard.size(), kShownTokens)));
    RETURN_IF_ERROR(shard.Read(0, vocabulary, tokens));
    facts.beginning = Excerpt(tokenizer->Decode(tokens), kShownCharacters);
  }
  ASSIGN_OR_RETURN(facts.largest_id, corpus::LargestToken(shard, vocabulary, stop));
  return facts;
}

StatusOr<ExitCode> InspectShard(const std::string& path, const DatasetOptions& options,
                                Session& session, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto shard, formats::TokenShard::Open(path));
  ASSIGN_OR_RETURN(const ShardFacts facts, LookAt(shard, options, session, stop));
  if (session.json()) {
    Json document = Document("TokenShard");
    document["path"] = path;
    document["format"] = formats::ShardFormatName(shard.format());
    document["tokens"] = shard.size();
    document["largest_id"] = facts.largest_id;
    if (!facts.beginning.empty()) document["text"] = facts.beginning;
    session.console().out << Pretty(document);
    return ExitCode::kOk;
  }
  session.console().out << fmt::format("{}  {} form, {} tokens, largest id {}\n", path,
                                       formats::ShardFormatName(shard.format()),
                                       WithThousands(shard.size()), facts.largest_id);
  if (!facts.beginning.empty()) session.console().out << "begins: " << facts.beginning << "\n";
  return ExitCode::kOk;
}

StatusOr<ExitCode> Inspect(const DatasetOptions& options, Session& session,
                           const std::stop_token& stop) {
  const std::string path = AbsolutePath(options.path, session.console().working_directory);
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return InspectShard(path, options, session, stop);
  }
  ASSIGN_OR_RETURN(const auto dataset, formats::ReadDatasetFile(path));
  session.console().Warn(DatasetWarnings(dataset));
  session.console().out << (session.json() ? DatasetJson(dataset, path)
                                           : DatasetText(dataset, path));
  return ExitCode::kOk;
}

StatusOr<ExitCode> Verify(const DatasetOptions& options, Session& session,
                          const std::stop_token& stop) {
  const std::string path = AbsolutePath(options.path, session.console().working_directory);
  ASSIGN_OR_RETURN(const auto dataset, corpus::VerifyDataset(path, stop));
  if (session.json()) {
    Json document = Document("Verification");
    document["directory"] = path;
    document["shards"] = dataset.shards.size();
    document["tokens"] = dataset.Tokens("train") + dataset.Tokens("val");
    document["intact"] = true;
    session.console().out << Pretty(document);
    return ExitCode::kOk;
  }
  session.console().out << fmt::format(
      "intact: {}  {} shards, {} tokens, every digest matches\n", path, dataset.shards.size(),
      WithThousands(dataset.Tokens("train") + dataset.Tokens("val")));
  return ExitCode::kOk;
}

using DatasetAction = StatusOr<ExitCode> (*)(const DatasetOptions&, Session&,
                                             const std::stop_token&);

// An action that runs `run` and stops it on Ctrl-C.
Action Interruptible(std::shared_ptr<DatasetOptions> options, DatasetAction run) {
  return [options, run](Session& session) {
    std::stop_source stop;
    const auto interrupted =
        session.console().interruption.OnRequest([&stop] { stop.request_stop(); });
    return run(*options, session, stop.get_token());
  };
}

}  // namespace

void AddDatasetVerbs(CommandSet& commands, Command data) {
  const Command inspect =
      commands.AddVerb(data, "inspect", "Show what prepared data or a token shard holds");
  auto inspected = std::make_shared<DatasetOptions>();
  inspect.Option("PATH", inspected->path, "folder with dataset.json, or a shard in any format")
      .Path()
      .Required();
  inspect
      .Option("--tokenizer", inspected->tokenizer,
              "show the beginning of a shard as text: bytes, gpt2, or a tokenizer's file")
      .Path();
  commands.Bind(inspect, Interruptible(inspected, &Inspect));
  const Command verify =
      commands.AddVerb(data, "verify", "Check every shard against the dataset.json in its folder");
  auto verified = std::make_shared<DatasetOptions>();
  verify.Option("DIR", verified->path, "folder with dataset.json").Path().Required();
  commands.Bind(verify, Interruptible(verified, &Verify));
}

}  // namespace gp::gpctl
