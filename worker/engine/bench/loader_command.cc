// `gp-bench loader`: how fast a run's batches can be read from token shards, from a cold page cache
// and from a warm one.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#include "base/file.h"
#include "formats/path_pattern.h"
#include "worker/engine/bench/bench_command.h"
#include "worker/engine/bench/model_flags.h"
#include "worker/engine/bench/report.h"
#include "worker/engine/data/batch_source.h"

namespace gp::engine {
namespace {

struct LoaderFlags {
  std::vector<std::string> shards;  // empty: one is made
  std::string order = "random";
  int64_t batch = 64;
  int64_t sequence = 1024;
  int64_t batches = 64;
  int64_t made_tokens = int64_t{64} << 20;
  std::string output = "text";
};

constexpr int64_t kVocabulary = 65536;  // every uint16 is an id

// A directory of this bench's own, with a shard in it.
class MadeShard {
 public:
  explicit MadeShard(int64_t tokens)
      : directory_(std::filesystem::temp_directory_path() /
                   fmt::format("gp-bench-loader-{}", getpid())) {
    std::filesystem::create_directories(directory_);
    std::mt19937 random(1);
    std::vector<int32_t> ids(static_cast<size_t>(tokens));
    for (int32_t& id : ids) id = static_cast<int32_t>(random() & 0xffff);
    written_ = WriteFileAtomically(path(), formats::FormatLlmCShard(ids));
  }
  ~MadeShard() {
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
  }
  MadeShard(const MadeShard&) = delete;
  MadeShard& operator=(const MadeShard&) = delete;

  std::string path() const { return directory_ / "shard.bin"; }
  const Status& written() const { return written_; }

 private:
  const std::filesystem::path directory_;
  Status written_;
};

// Asks the kernel to drop a file's pages. They must have reached the disk.
void Forget(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return;
  fdatasync(file.get());
  posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
}

StatusOr<std::unique_ptr<TokenSource>> OpenShards(const std::vector<std::string>& paths) {
  std::vector<formats::TokenShard> shards;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(formats::TokenShard shard, formats::TokenShard::Open(path));
    shards.push_back(std::move(shard));
  }
  return MakeShardTokens(std::move(shards), kVocabulary);
}

// Tokens a second over `batches` batches that were not read before.
StatusOr<double> ReadBatches(const BatchSource& source, const LoaderFlags& flags) {
  std::vector<int32_t> tokens(static_cast<size_t>(flags.batch * flags.sequence));
  std::vector<int32_t> targets(tokens.size());
  const auto start = std::chrono::steady_clock::now();
  for (int64_t step = 0; step < flags.batches; ++step) {
    RETURN_IF_ERROR(source.Fill(step, 0, 0, tokens, targets));
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return static_cast<double>(flags.batches) * static_cast<double>(tokens.size()) / elapsed.count();
}

struct LoaderRates {
  double cold = 0;  // tokens a second
  double warm = 0;
};

StatusOr<LoaderRates> MeasureRates(const std::vector<std::string>& paths,
                                   const LoaderFlags& flags) {
  for (const std::string& path : paths) Forget(path);
  ASSIGN_OR_RETURN(const auto tokens, OpenShards(paths));
  runspec::RunSpec spec;
  spec.batch.micro_batch = flags.batch;
  spec.batch.sequence = flags.sequence;
  if (flags.order == "sequential") spec.data.order = runspec::BatchOrder::kSequential;
  if (flags.order == "shuffled") spec.data.order = runspec::BatchOrder::kShuffled;
  ASSIGN_OR_RETURN(const auto source, BatchSource::Make(*tokens, spec, runspec::BatchPlan{}));
  LoaderRates rates;
  ASSIGN_OR_RETURN(rates.cold, ReadBatches(source, flags));
  ASSIGN_OR_RETURN(rates.warm, ReadBatches(source, flags));
  return rates;
}

void PrintLoader(const Json& r) {
  fmt::print("{} batches of {} x {} tokens, {} order, from {} shards\n",
             r["batches"].get<int64_t>(), r["batch"].get<int64_t>(), r["sequence"].get<int64_t>(),
             r["order"].get<std::string>(), r["shards"].get<size_t>());
  fmt::print("cold       {:.1f} M tokens/s   pages dropped first, where the file system allows\n",
             r["cold_tokens_per_second"].get<double>() / 1e6);
  fmt::print("warm       {:.1f} M tokens/s\n", r["warm_tokens_per_second"].get<double>() / 1e6);
}

Status RunLoader(const LoaderFlags& flags) {
  std::unique_ptr<MadeShard> made;
  std::vector<std::string> paths;
  if (flags.shards.empty()) {
    made = std::make_unique<MadeShard>(flags.made_tokens);
    RETURN_IF_ERROR(made->written());
    paths = {made->path()};
  } else {
    ASSIGN_OR_RETURN(paths, formats::ExpandPatterns(flags.shards, "--shards"));
  }
  ASSIGN_OR_RETURN(const LoaderRates rates, MeasureRates(paths, flags));
  Json report = MakeDocument("LoaderBench");
  report.update({{"shards", paths.size()},
                 {"order", flags.order},
                 {"batch", flags.batch},
                 {"sequence", flags.sequence},
                 {"batches", flags.batches},
                 {"cold_tokens_per_second", rates.cold},
                 {"warm_tokens_per_second", rates.warm}});
  flags.output == "json" ? PrintJson(report) : PrintLoader(report);
  return OkStatus();
}

}  // namespace

BenchRun AddLoaderCommand(const Command& app) {
  auto flags = std::make_shared<LoaderFlags>();
  app.Option("--shards", flags->shards, "token shards, globs allowed (default: one is made)");
  app.Option("--order", flags->order).OneOf({"random", "sequential", "shuffled"}).ShowDefault();
  app.Option("--batch", flags->batch).Positive().ShowDefault();
  app.Option("--sequence", flags->sequence).Positive().ShowDefault();
  app.Option("--batches", flags->batches).Positive().ShowDefault();
  app.Option("--tokens", flags->made_tokens, "of the shard that is made").Positive().ShowDefault();
  AddOutputFlag(app, flags->output);
  return [flags] { return RunLoader(*flags); };
}

}  // namespace gp::engine
