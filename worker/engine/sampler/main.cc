// gp-sampler: continues a prompt with the model of a checkpoint and prints the text.
#include <algorithm>
#include <cstdio>

#include "base/command_line.h"
#include "base/exit_code.h"
#include "base/usable_cores.h"
#include "worker/engine/checkpoint/recorded_precision.h"
#include "worker/engine/sampler/checkpoint_sampler.h"

namespace gp::engine {
namespace {

// Samples that are written side by side; each takes a cache of the whole context.
constexpr int kAtATime = 8;

struct Options {
  std::string checkpoint;
  SampleRequest request;
  int count = 1;
  int threads = 0;
  std::string precision = "auto";
};

void AddOptions(Command app, Options& options) {
  SampleRequest& request = options.request;
  app.Version("gp-sampler " GP_VERSION);
  app.Option("--checkpoint", options.checkpoint, "Checkpoint directory, or a run's directory")
      .Required();
  app.Option("--prompt", request.prompt, "Text to continue").ShowDefault();
  app.Option("--max-tokens", request.max_tokens, "Tokens to add")
      .Between(int64_t{0}, int64_t{1} << 30)
      .ShowDefault();
  app.Option("--temperature", request.sampling.temperature, "0: always the likeliest token")
      .Between(0.0, 100.0)
      .ShowDefault();
  app.Option("--top-k", request.sampling.top_k, "Tokens to choose from; 0: all")
      .NonNegative()
      .ShowDefault();
  app.Option("--seed", request.seed, "The same seed gives the same text").ShowDefault();
  app.Option("--count", options.count, "Samples to print").Positive().ShowDefault();
  app.Option("--threads", options.threads, "0: every processor that may be used").NonNegative();
  app.Option("--precision", options.precision,
             "What to compute in: fp32, bf16, or auto: as the checkpoint's run did")
      .OneOf({"auto", "fp32", "bf16"})
      .ShowDefault();
}

runspec::Precision PrecisionOf(const std::string& name) {
  if (name == "auto") return runspec::Precision::kAuto;
  return name == "bf16" ? runspec::Precision::kBf16 : runspec::Precision::kFp32;
}

SamplerOptions SamplerOptionsOf(const Options& options) {
  return {.threads = options.threads > 0 ? options.threads : CountUsableCores(),
          .slots = std::min(options.count, kAtATime),
          .precision = PrecisionOf(options.precision)};
}

int Fail(const Status& status) {
  std::fprintf(stderr, "gp-sampler: %s\n", Message(status).c_str());
  return ProcessStatus(ExitCodeOf(status));
}

int Run(const Options& options) {
  auto sampler = CheckpointSampler::Open(options.checkpoint, SamplerOptionsOf(options));
  if (!sampler.ok()) return Fail(sampler.status());
  // On stderr: stdout is the text alone.
  std::fprintf(stderr, "gp-sampler: step %lld, computing in %s\n",
               static_cast<long long>(sampler->manifest().step),
               PrecisionText(sampler->precision()).c_str());
  for (int first = 0; first < options.count; first += kAtATime) {
    std::vector<SampleRequest> requests;
    for (int i = first; i < std::min(first + kAtATime, options.count); ++i) {
      requests.push_back(options.request);
      requests.back().sample = static_cast<uint64_t>(i);
    }
    const auto texts = sampler->Sample(requests);
    if (!texts.ok()) return Fail(texts.status());
    for (size_t i = 0; i < texts->size(); ++i) {
      std::printf("%s%s\n", first == 0 && i == 0 ? "" : "---------------\n", (*texts)[i].c_str());
    }
  }
  return 0;
}

}  // namespace
}  // namespace gp::engine

int main(int argc, char** argv) {
  const gp::CommandLine line(
      "Continues a prompt with the model of a checkpoint and prints the text.");
  gp::engine::Options options;
  gp::engine::AddOptions(line.root(), options);
  if (const auto exit_code = line.Parse(argc, argv)) return *exit_code;
  return gp::engine::Run(options);
}
