// gp-sampler: continues a prompt with the model of a checkpoint and prints the text.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

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

void AddOptions(CLI::App& app, Options& options) {
  SampleRequest& request = options.request;
  app.set_version_flag("--version", "gp-sampler " GP_VERSION);
  app.add_option("--checkpoint", options.checkpoint, "Checkpoint directory, or a run's directory")
      ->required();
  app.add_option("--prompt", request.prompt, "Text to continue")->capture_default_str();
  app.add_option("--max-tokens", request.max_tokens, "Tokens to add")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--temperature", request.sampling.temperature, "0: always the likeliest token")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  app.add_option("--top-k", request.sampling.top_k, "Tokens to choose from; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seed", request.seed, "The same seed gives the same text")
      ->capture_default_str();
  app.add_option("--count", options.count, "Samples to print")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--threads", options.threads, "0: every processor that may be used")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--precision", options.precision,
                 "What to compute in: fp32, bf16, or auto: as the checkpoint's run did")
      ->check(CLI::IsMember({"auto", "fp32", "bf16"}))
      ->capture_default_str();
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
  CLI::App app("Continues a prompt with the model of a checkpoint and prints the text.");
  gp::engine::Options options;
  gp::engine::AddOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : gp::ProcessStatus(gp::ExitCode::kUsage);
  }
  return gp::engine::Run(options);
}
