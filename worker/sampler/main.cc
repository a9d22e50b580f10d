// gp-sampler, and gp-sampler-cuda for a GPU: continues a prompt with the model of a checkpoint and
// prints the text, or answers requests of a gateway (--link).
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/machine/parent_process.h"
#include "base/machine/usable_cores.h"
#include "base/standard_output.h"
#include "confinement/confinement.h"
#include "contract/channel.h"
#include "formats/recorded_precision.h"
#include "worker/sampler/checkpoint_sampler.h"
#include "worker/sampler/linked_sampler.h"

namespace gp::engine {
namespace {

// The most samples generated at the same time; each needs a cache for the whole context.
constexpr int kAtATime = 8;

constexpr bool kComputesOnGpus = std::string_view(GP_PROGRAM).ends_with("-cuda");

struct Options {
  bool linked = false;
  std::string readable;
  std::string checkpoint;
  SampleRequest request;
  int count = 1;
  int threads = 0;
  std::string precision = "auto";
};

// Flags for drawing tokens and for ending a text.
void AddChoiceOptions(Command app, SampleRequest& request) {
  SamplingOptions& sampling = request.sampling;
  app.Option("--top-k", sampling.top_k, "Choose from this many of the likeliest tokens; 0: all")
      .NonNegative()
      .ShowDefault();
  app.Option("--top-p", sampling.top_p,
             "Choose from the likeliest tokens whose probabilities add up to this")
      .Between(0.0, 1.0)
      .ShowDefault();
  app.Option("--min-p", sampling.min_p,
             "Choose from tokens with at least this share of the likeliest one's probability")
      .Between(0.0, 1.0)
      .ShowDefault();
  app.Option("--presence-penalty", sampling.presence_penalty,
             "Subtracted from the logit of each token that has already occurred")
      .Between(-100.0, 100.0)
      .ShowDefault();
  app.Option("--frequency-penalty", sampling.frequency_penalty,
             "Subtracted from a token's logit once for each time it has occurred")
      .Between(-100.0, 100.0)
      .ShowDefault();
  app.Option("--stop", request.stop, "End the text before this string; may be given several times")
      .OneValueEach();
  app.Switch("--ignore-end-of-text", request.ignore_end_of_text,
             "Continue after the end-of-text token");
}

void AddOptions(Command app, Options& options) {
  SampleRequest& request = options.request;
  app.Version(GP_PROGRAM " " GP_VERSION);
  const Flag link = app.Switch("--link", options.linked, "Serve a gateway over file descriptor 3");
  app.Option("--readable", options.readable,
             "Allow reading only this directory, and writing nothing")
      .Path()
      .Needs(link);
  app.Option("--checkpoint", options.checkpoint, "Checkpoint directory, or a run's directory")
      .Path()
      .Excludes(link);
  app.Option("--prompt", request.prompt, "Text to continue").ShowDefault();
  app.Option("--max-tokens", request.max_tokens, "Tokens to generate")
      .Between(int64_t{0}, int64_t{1} << 30)
      .ShowDefault();
  app.Option("--temperature", request.sampling.temperature, "0 always takes the likeliest token")
      .Between(0.0, 100.0)
      .ShowDefault();
  AddChoiceOptions(app, request);
  app.Option("--seed", request.seed, "The same seed gives the same text").ShowDefault();
  app.Option("--count", options.count, "Samples to print").Positive().ShowDefault();
  app.Option("--threads", options.threads, "0: all processors available to this process")
      .NonNegative();
  app.Option("--precision", options.precision,
             "Precision: fp32, bf16, or auto: as in the checkpoint's run")
      .OneOf({"auto", "fp32", "bf16"})
      .ShowDefault();
}

SamplerOptions SamplerOptionsOf(const Options& options) {
  return {.threads = options.threads > 0 ? options.threads : CountUsableCores(),
          .slots = std::min(options.count, kAtATime),
          .precision = formats::ParseInferencePrecision(options.precision).value()};
}

int Fail(const Status& status) {
  std::fprintf(stderr, GP_PROGRAM ": %s\n", Message(status).c_str());
  return ProcessStatus(ExitCodeOf(status));
}

// The text may hold any byte, also NUL.
void Print(const char* separator, const std::string& text) {
  std::fputs(separator, stdout);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
}

int RunLinked(const Options& options) {
  if (!DieWithParent()) {
    std::fprintf(stderr, GP_PROGRAM ": the gateway has exited\n");
    return ProcessStatus(ExitCode::kFailure);
  }
  if (!options.readable.empty()) {
    const Status confined =
        confinement::Confine({.readable = {options.readable}, .gpus = kComputesOnGpus});
    if (!confined.ok()) return Fail(WithContext(confined, "cannot confine this process"));
  }
  return RunLinkedSampler(FileDescriptor(link::kEngineDescriptor), GP_PROGRAM);
}

int Run(const Options& options) {
  auto sampler = CheckpointSampler::Open(options.checkpoint, SamplerOptionsOf(options));
  if (!sampler.ok()) return Fail(sampler.status());
  // On stderr, because stdout has only the text.
  std::fprintf(stderr, GP_PROGRAM ": step %lld, computing in %s\n",
               static_cast<long long>(sampler->model().manifest().step),
               formats::PrecisionText(sampler->model().precision()).c_str());
  for (int first = 0; first < options.count; first += kAtATime) {
    std::vector<SampleRequest> requests;
    for (int i = first; i < std::min(first + kAtATime, options.count); ++i) {
      requests.push_back(options.request);
      requests.back().sample = static_cast<uint64_t>(i);
    }
    const auto texts = sampler->Sample(requests);
    if (!texts.ok()) return Fail(texts.status());
    for (size_t i = 0; i < texts->size(); ++i) {
      Print(first == 0 && i == 0 ? "" : "---------------\n", (*texts)[i]);
    }
  }
  return 0;
}

int Main(int argc, char** argv) {
  const CommandLine line("Continues a prompt with the model of a checkpoint and prints the text.");
  Options options;
  AddOptions(line.root(), options);
  if (const auto exit_code = line.Parse(argc, argv)) return *exit_code;
  if (options.linked) return RunLinked(options);
  if (options.checkpoint.empty()) {
    std::fprintf(stderr, GP_PROGRAM ": --checkpoint DIR is missing; see " GP_PROGRAM " --help\n");
    return ProcessStatus(ExitCode::kUsage);
  }
  return Run(options);
}

}  // namespace
}  // namespace gp::engine

int main(int argc, char** argv) {
  gp::InitLogging(GP_PROGRAM);
  signal(SIGPIPE, SIG_IGN);
  gp::StandardOutput output;
  return output.Finish(GP_PROGRAM, gp::engine::Main(argc, argv));
}
