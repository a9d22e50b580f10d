// `gp-bench loader`: measures how fast a run's batches can be read, from token shards with a cold
// page cache and a warm one, from a mixture of shards, or from text; and how long steps at a given
// pace wait for data.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "base/file.h"
#include "formats/path_pattern.h"
#include "worker/bench/bench_command.h"
#include "worker/bench/model_flags.h"
#include "worker/bench/report.h"
#include "worker/data/batch_reader.h"
#include "worker/data/dataset.h"

namespace gp::engine {
namespace {

struct LoaderFlags {
  std::vector<std::string> shards;  // empty: shards are generated
  std::vector<std::string> stream;  // text files, read instead of shards
  std::string tokenizer = "gpt2";   // for text
  std::string order = "random";
  bool mixture = false;
  int64_t batch = 64;
  int64_t sequence = 1024;
  int64_t batches = 64;
  int64_t made_tokens = int64_t{64} << 20;
  double pace = 1e6;  // tokens per second
  std::string output = "text";
};

constexpr int64_t kVocabulary = 65536;  // every uint16 is an id
// Weights of the two shards that are mixed.
constexpr double kFirstWeight = 0.7, kSecondWeight = 0.3;

// A temporary directory with generated shards.
class MadeShards {
 public:
  MadeShards(int64_t tokens, int count)
      : directory_(std::filesystem::temp_directory_path() /
                   fmt::format("gp-bench-loader-{}", getpid())) {
    std::filesystem::create_directories(directory_);
    std::mt19937 random(1);
    std::vector<int32_t> ids(static_cast<size_t>(tokens / count));
    for (int i = 0; i < count && written_.ok(); ++i) {
      for (int32_t& id : ids) id = static_cast<int32_t>(random() & 0xffff);
      paths_.push_back(directory_ / fmt::format("shard{}.bin", i));
      written_ = WriteFileAtomically(paths_.back(), formats::FormatLlmCShard(ids));
    }
  }
  ~MadeShards() {
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
  }
  MadeShards(const MadeShards&) = delete;
  MadeShards& operator=(const MadeShards&) = delete;

  const std::vector<std::string>& paths() const { return paths_; }
  const Status& written() const { return written_; }

 private:
  const std::filesystem::path directory_;
  std::vector<std::string> paths_;
  Status written_;
};

// Asks the kernel to drop a file's pages from its cache. Syncs first, because only pages that are
// on the disk can be dropped.
void Forget(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return;
  fdatasync(file.get());
  posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
}

runspec::RunSpec SpecOf(const LoaderFlags& flags, const std::vector<std::string>& shards) {
  runspec::RunSpec spec;
  spec.batch.micro_batch = flags.batch;
  spec.batch.sequence = flags.sequence;
  if (!flags.stream.empty()) {
    spec.data = {.stream = flags.stream,
                 .tokenizer = flags.tokenizer,
                 .order = runspec::BatchOrder::kSequential};
    return spec;
  }
  spec.vocabulary_auto = false;
  spec.model.vocabulary = kVocabulary;
  spec.data.train = shards;
  if (flags.mixture) spec.data.weights = {kFirstWeight, kSecondWeight};
  if (flags.order == "sequential") spec.data.order = runspec::BatchOrder::kSequential;
  if (flags.order == "shuffled") spec.data.order = runspec::BatchOrder::kShuffled;
  return spec;
}

// Reads batches like a trainer with one shard.
class Loader {
 public:
  Loader(const BatchSource& source, const runspec::BatchPlan& plan, const LoaderFlags& flags)
      : batches_(source, plan, 0, plan.logical_shards),
        tokens_(static_cast<size_t>(flags.batch * flags.sequence)),
        targets_(tokens_.size()) {}

  // Seconds until the next step has its batch.
  StatusOr<double> Next() {
    const auto start = std::chrono::steady_clock::now();
    RETURN_IF_ERROR(batches_.Read(step_++, 0, 0, tokens_, targets_));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  // Tokens per second over `batches` batches, one right after the other.
  StatusOr<double> Rate(int64_t batches) {
    double seconds = 0;
    for (int64_t i = 0; i < batches; ++i) {
      ASSIGN_OR_RETURN(const double waited, Next());
      seconds += waited;
    }
    return static_cast<double>(batches) * static_cast<double>(tokens_.size()) / seconds;
  }

  // The wait of each of `batches` steps, in milliseconds, when the rest of a step takes long enough
  // to consume `pace` tokens per second.
  StatusOr<std::vector<double>> Waits(int64_t batches, double pace) {
    const std::chrono::duration<double> step(static_cast<double>(tokens_.size()) / pace);
    std::vector<double> waits;
    for (int64_t i = 0; i < batches; ++i) {
      const auto start = std::chrono::steady_clock::now();
      ASSIGN_OR_RETURN(const double waited, Next());
      waits.push_back(waited * 1e3);
      std::this_thread::sleep_until(start + step);
    }
    return waits;
  }

 private:
  BatchReader batches_;
  int64_t step_ = 0;
  std::vector<int32_t> tokens_;
  std::vector<int32_t> targets_;
};

Json WaitFields(std::vector<double> waits, const LoaderFlags& flags) {
  std::sort(waits.begin(), waits.end());
  const double step_ms = 1e3 * static_cast<double>(flags.batch * flags.sequence) / flags.pace;
  const double sum = std::accumulate(waits.begin(), waits.end(), 0.0);
  return {{"tokens_per_second", flags.pace},
          {"step_ms", step_ms},
          {"wait_ms_median", waits[waits.size() / 2]},
          {"wait_ms_max", waits.back()},
          {"wait_share", sum / static_cast<double>(waits.size()) / step_ms}};
}

StatusOr<Json> Measure(const LoaderFlags& flags, const std::vector<std::string>& shards) {
  const runspec::RunSpec spec = SpecOf(flags, shards);
  ASSIGN_OR_RETURN(const Dataset dataset, OpenDataset(spec));
  const runspec::BatchPlan plan;
  ASSIGN_OR_RETURN(const auto source,
                   BatchSource::Make(*dataset.train, spec, plan, dataset.entry_files));
  for (const std::string& path : shards) Forget(path);
  Loader loader(source, plan, flags);
  Json report = MakeDocument("LoaderBench");
  report.update({{"data", dataset.description},
                 {"order", dataset.stream != nullptr ? "stream" : flags.order},
                 {"mixture", flags.mixture},
                 {"batch", flags.batch},
                 {"sequence", flags.sequence},
                 {"batches", flags.batches}});
  if (dataset.stream != nullptr) {
    ASSIGN_OR_RETURN(const double first, loader.Next());
    report["first_batch_ms"] = first * 1e3;
  } else {
    ASSIGN_OR_RETURN(report["cold_tokens_per_second"], loader.Rate(flags.batches));
  }
  ASSIGN_OR_RETURN(report["warm_tokens_per_second"], loader.Rate(flags.batches));
  ASSIGN_OR_RETURN(auto waits, loader.Waits(flags.batches, flags.pace));
  report["paced"] = WaitFields(std::move(waits), flags);
  return report;
}

void PrintLoader(const Json& r) {
  const auto number = [](const Json& json) { return json.get<double>(); };
  fmt::print("{} batches of {} x {} tokens, order {}{}\n{}\n", r["batches"].get<int64_t>(),
             r["batch"].get<int64_t>(), r["sequence"].get<int64_t>(), r["order"].get<std::string>(),
             r["mixture"].get<bool>() ? ", mixed" : "", r["data"].get<std::string>());
  if (r.contains("first_batch_ms")) {
    fmt::print("first      {:.0f} ms until the first batch\n", number(r["first_batch_ms"]));
  } else {
    fmt::print("cold       {:.1f} M tokens/s   pages dropped first, where the file system allows\n",
               number(r["cold_tokens_per_second"]) / 1e6);
  }
  fmt::print("warm       {:.1f} M tokens/s\n", number(r["warm_tokens_per_second"]) / 1e6);
  const Json& paced = r["paced"];
  fmt::print(
      "paced      {:.2f} ms of a step of {:.1f} ms ({:.1f} M tokens/s) wait for data, {:.2f} ms at "
      "most: {:.2f} %\n",
      number(paced["wait_ms_median"]), number(paced["step_ms"]),
      number(paced["tokens_per_second"]) / 1e6, number(paced["wait_ms_max"]),
      100 * number(paced["wait_share"]));
}

Status RunLoader(const LoaderFlags& flags) {
  std::unique_ptr<MadeShards> made;
  std::vector<std::string> shards;
  if (!flags.shards.empty()) {
    ASSIGN_OR_RETURN(shards, formats::ExpandPatterns(flags.shards, "--shards"));
  } else if (flags.stream.empty()) {
    made = std::make_unique<MadeShards>(flags.made_tokens, flags.mixture ? 2 : 1);
    RETURN_IF_ERROR(made->written());
    shards = made->paths();
  }
  if (flags.mixture && shards.size() != 2) {
    return InvalidArgument("--mixture mixes two shards, and --shards names {}", shards.size());
  }
  ASSIGN_OR_RETURN(const Json report, Measure(flags, shards));
  flags.output == "json" ? PrintJson(report) : PrintLoader(report);
  return OkStatus();
}

}  // namespace

BenchRun AddLoaderCommand(const Command& app) {
  auto flags = std::make_shared<LoaderFlags>();
  app.Option("--shards", flags->shards, "token shards, globs allowed (default: generated)").Path();
  app.Option("--stream", flags->stream, "text to tokenize while reading, instead of shards").Path();
  app.Option("--tokenizer", flags->tokenizer, "tokenizer of --stream: bytes, gpt2, or a path")
      .Path()
      .ShowDefault();
  app.Option("--order", flags->order).OneOf({"random", "sequential", "shuffled"}).ShowDefault();
  app.Switch("--mixture", flags->mixture, "mix two shards with weights 0.7 and 0.3");
  app.Option("--batch", flags->batch).Positive().ShowDefault();
  app.Option("--sequence", flags->sequence).Positive().ShowDefault();
  app.Option("--batches", flags->batches).Positive().ShowDefault();
  app.Option("--tokens", flags->made_tokens, "tokens of the generated shards")
      .Positive()
      .ShowDefault();
  app.Option("--pace", flags->pace, "tokens per second of the simulated steps")
      .Positive()
      .ShowDefault();
  AddOutputFlag(app, flags->output);
  return [flags] { return RunLoader(*flags); };
}

}  // namespace gp::engine
