// `gp-bench sample`: writing text with a cache of keys and values, alone or beside Hugging Face's
// generate.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "worker/engine/bench/bench_command.h"
#include "worker/engine/bench/core_set.h"
#include "worker/engine/bench/model_flags.h"
#include "worker/engine/bench/paired_samples.h"
#include "worker/engine/bench/peer_program.h"
#include "worker/engine/model/gpt2_decoder.h"
#include "worker/engine/sampler/token_generator.h"

namespace gp::engine {
namespace {

struct SampleFlags {
  ModelFlags model;
  int64_t prompt = 16;
  int64_t tokens = 64;
  PairedOptions paired;
  std::string peer;
  std::string python;
};

// A model with random weights that writes one text a slot.
class SampleBench {
 public:
  SampleBench(const SampleFlags& flags, const ModelOptions& options)
      : flags_(flags), model_(MakeModel(options)), slots_(flags.model.batch) {
    const DecoderWeights weights{
        .master = model_->parameters().data(),
        .working_copy = model_->working_copy().empty() ? nullptr : model_->working_copy().data()};
    decoder_.emplace(
        DecoderOptions{options.shape, slots_, std::min(options.sequence, options.shape.context)},
        weights, model_->backend());
    std::mt19937 random(1);
    prompt_.resize(static_cast<size_t>(flags.prompt));
    for (int32_t& id : prompt_) {
      id = static_cast<int32_t>(random() % static_cast<uint64_t>(options.shape.vocabulary));
    }
  }

  // Continues a prompt in every slot; answers milliseconds.
  double Once() {
    std::vector<Generation> generations;
    for (int64_t i = 0; i < slots_; ++i) {
      generations.push_back({.prompt = prompt_,
                             .max_tokens = flags_.tokens,
                             .seed = 1337,
                             .sample = static_cast<uint64_t>(i)});
    }
    const auto start = std::chrono::steady_clock::now();
    GenerateTokens(*decoder_, generations);
    const auto elapsed = std::chrono::steady_clock::now() - start;
    return std::chrono::duration<double, std::milli>(elapsed).count();
  }

  const char* kernels() { return model_->backend().name(); }

 private:
  // The weights and where they compute; its activations stay small.
  static std::unique_ptr<LanguageModel> MakeModel(ModelOptions options) {
    options.micro_batch = 1;
    auto model = MakeLanguageModel(options);
    InitializeNormal(1337, *model);
    return model;
  }

  const SampleFlags flags_;
  std::unique_ptr<LanguageModel> model_;
  const int64_t slots_;
  std::optional<Gpt2Decoder> decoder_;
  std::vector<int32_t> prompt_;
};

Json MakeReport(const SampleFlags& flags, const ModelOptions& options, SampleBench& bench,
                const PairedSamples& samples) {
  const SampleSummary ms = Summarize(samples.ours_ms);
  const auto written = static_cast<double>(flags.tokens * flags.model.batch);
  Json report = MakeDocument("SampleBench");
  report.update({{"model", flags.model.model},
                 {"batch", flags.model.batch},
                 {"prompt", flags.prompt},
                 {"tokens", flags.tokens},
                 {"precision", PrecisionName(options)},
                 {"threads", options.threads},
                 {"kernels", bench.kernels()},
                 {"ms", ToJson(ms)},
                 {"tokens_per_second", 1e3 * written / ms.median}});
  return report;
}

void PrintSample(const Json& r) {
  fmt::print("model {}, {} texts of {} tokens after {}, {}, {} threads, {} kernels\n",
             r["model"].get<std::string>(), r["batch"].get<int64_t>(), r["tokens"].get<int64_t>(),
             r["prompt"].get<int64_t>(), r["precision"].get<std::string>(), r["threads"].get<int>(),
             r["kernels"].get<std::string>());
  fmt::print("texts      {} ms   median and quartiles\n", SpreadText(r["ms"]));
  fmt::print("rate       {:.1f} tokens/s\n", r["tokens_per_second"].get<double>());
  if (r.contains("peer")) PrintPeer(r["peer"]);
}

Status RunSample(const SampleFlags& flags) {
  const ModelOptions options = MakeModelOptions(flags.model);
  if (flags.prompt + flags.tokens > options.sequence) {
    throw std::invalid_argument(
        fmt::format("{} tokens after a prompt of {} do not fit --sequence {}", flags.tokens,
                    flags.prompt, options.sequence));
  }
  UseCores(options.threads);
  std::optional<PeerProcess> peer;
  if (!flags.peer.empty()) {
    PeerProgram program{"hf_generate.py", flags.python, PeerArguments(options)};
    program.arguments.push_back(fmt::format("--prompt={}", flags.prompt));
    program.arguments.push_back(fmt::format("--tokens={}", flags.tokens));
    ASSIGN_OR_RETURN(PeerProcess started, StartPeer(program));
    peer.emplace(std::move(started));
  }
  SampleBench bench(flags, options);
  ASSIGN_OR_RETURN(const PairedSamples samples,
                   MeasurePaired(
                       flags.paired, [&] { return bench.Once(); }, peer ? &*peer : nullptr));
  Json report = MakeReport(flags, options, bench, samples);
  if (peer) report["peer"] = PeerJson(flags.peer, *peer, samples);
  flags.model.json() ? PrintJson(report) : PrintSample(report);
  return OkStatus();
}

}  // namespace

BenchRun AddSampleCommand(const Command& app) {
  auto flags = std::make_shared<SampleFlags>();
  flags->model.batch = 1;
  AddModelFlags(app, flags->model);
  AddEngineFlags(app, flags->model);
  app.Option("--prompt", flags->prompt, "tokens that are there already").Positive().ShowDefault();
  app.Option("--tokens", flags->tokens, "tokens to write after each prompt")
      .Positive()
      .ShowDefault();
  AddPairedFlags(app, flags->paired);
  app.Option("--peer", flags->peer, "also run this peer, in alternating blocks").OneOf({"hf"});
  app.Option("--python", flags->python, "Python with the peer's packages");
  return [flags] { return RunSample(*flags); };
}

}  // namespace gp::engine
