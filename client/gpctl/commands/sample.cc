// gpctl sample.
#include "client/gpctl/commands/sample.h"

#include <memory>

#include "base/file.h"
#include "client/gpctl/checkpoint_reference.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/service/program_run.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

constexpr char kSeparator[] = "\n---------------\n";  // of gp-sampler, between samples

std::vector<std::string> SamplerArguments(const std::string& directory,
                                          const SampleOptions& options) {
  return {"--checkpoint",  directory,
          "--prompt",      options.prompt,
          "--max-tokens",  fmt::format("{}", options.max_tokens),
          "--temperature", fmt::format("{}", options.temperature),
          "--top-k",       fmt::format("{}", options.top_k),
          "--seed",        fmt::format("{}", options.seed),
          "--count",       fmt::format("{}", options.count),
          "--precision",   options.precision};
}

Json SplitSamples(std::string text) {
  Json samples = Json::array();
  if (text.ends_with('\n')) text.pop_back();
  size_t at = 0;
  while ((at = text.find(kSeparator)) != std::string::npos) {
    samples.push_back(text.substr(0, at));
    text.erase(0, at + sizeof(kSeparator) - 1);
  }
  samples.push_back(text);
  return samples;
}

// Its own words are on stderr already.
Status StatusOfSampler(int code, const std::string& directory) {
  switch (static_cast<ExitCode>(code)) {
    case ExitCode::kOk:
      return OkStatus();
    case ExitCode::kUsage:
      return InvalidArgument("gp-sampler refused {} (its words are above)", directory);
    case ExitCode::kNotFound:
      return NotFound("gp-sampler found no checkpoint in {}", directory);
    case ExitCode::kDamaged:
      return DataLoss("the checkpoint {} is damaged (gp-sampler's words are above)", directory);
    default:
      return Internal("gp-sampler could not sample from {} (exit code {})", directory, code);
  }
}

StatusOr<ExitCode> Sample(const SampleOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const std::string directory,
                   FindCheckpointDirectory(options.reference, session));
  std::ostream& out = session.console().out;
  const bool clean = session.console().out_is_terminal;
  std::string text;
  RETURN_IF_ERROR(SampleCheckpoint(directory, options, session, [&](const std::string& piece) {
    if (session.json()) {
      text += piece;
    } else {
      out << (clean ? SafeText(piece, session.utf8()) : piece) << std::flush;
    }
  }));
  if (session.json()) {
    Json document = Document("Samples");
    document["checkpoint"] = directory;
    document["prompt"] = options.prompt;
    document["seed"] = options.seed;
    document["samples"] = SplitSamples(text);
    out << Pretty(document);
  }
  return ExitCode::kOk;
}

}  // namespace

Status SampleCheckpoint(const std::string& directory, const SampleOptions& options,
                        Session& session, const std::function<void(const std::string&)>& on_text) {
  const std::string program = JoinPath(session.console().program_directory, "gp-sampler");
  const ProgramRun run{.program = program, .arguments = SamplerArguments(directory, options)};
  const StatusOr<int> code = RunProgram(run, session.console().interruption, on_text);
  if (code.status().code() == StatusCode::kNotFound) {
    return FailedPrecondition(
        "{} is missing: it belongs beside gpctl; build it with 'make programs'", program);
  }
  RETURN_IF_ERROR(code.status());
  return StatusOfSampler(*code, directory);
}

void AddSampleCommand(CommandSet& commands) {
  const Command command =
      commands.Add("sample", kModelGroup, "Print text that a checkpoint generates");
  auto options = std::make_shared<SampleOptions>();
  command.Option("REF", options->reference, "RUN, RUN@STEP, RUN@best, or a checkpoint's directory")
      .Required();
  command.Option("-p,--prompt", options->prompt, "text to continue");
  command.Option("--max-tokens", options->max_tokens, "tokens to add (200)")
      .Between(int64_t{1}, int64_t{1} << 30);
  command.Option("--temperature", options->temperature, "0 takes the likeliest token always (0.8)")
      .Between(0.0, 100.0);
  command.Option("--top-k", options->top_k, "tokens to choose from, 0 for all (200)").NonNegative();
  command.Option("--seed", options->seed, "the same seed gives the same text (1337)");
  command.Option("-n,--count", options->count, "how many samples (1)").Between(1, 10000);
  command
      .Option("--precision", options->precision, "fp32, bf16, or as the run computed: auto (auto)")
      .OneOf({"auto", "fp32", "bf16"});
  commands.Bind(command, [options](Session& session) { return Sample(*options, session); });
}

}  // namespace gp::gpctl
