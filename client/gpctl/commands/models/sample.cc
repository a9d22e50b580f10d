// gpctl sample.
#include "client/gpctl/commands/models/sample.h"

#include <memory>

#include "base/file.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/service/program_run.h"
#include "client/gpctl/session/served_checkpoint.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

constexpr char kSeparator[] = "\n---------------\n";  // what gp-sampler prints between samples

// The most texts that are requested from the gateway, because more of them would delay its other
// users. gp-sampler writes larger numbers of texts.
constexpr int kGatewayCountMax = 8;

std::vector<std::string> SamplerArguments(const std::string& directory,
                                          const SampleOptions& options) {
  std::vector<std::string> arguments = {"--checkpoint",  directory,
                                        "--prompt",      options.prompt,
                                        "--max-tokens",  fmt::format("{}", options.max_tokens),
                                        "--temperature", fmt::format("{}", options.temperature),
                                        "--top-k",       fmt::format("{}", options.top_k),
                                        "--seed",        fmt::format("{}", options.seed),
                                        "--count",       fmt::format("{}", options.count),
                                        "--precision",   options.precision};
  const auto add = [&arguments](const char* flag, double value, double usual) {
    if (value != usual) arguments.insert(arguments.end(), {flag, fmt::format("{}", value)});
  };
  add("--top-p", options.top_p, 1);
  add("--min-p", options.min_p, 0);
  add("--presence-penalty", options.presence_penalty, 0);
  add("--frequency-penalty", options.frequency_penalty, 0);
  for (const std::string& stop : options.stop) {
    arguments.insert(arguments.end(), {"--stop", stop});
  }
  return arguments;
}

// Prints a gateway's texts in gp-sampler's format: the first one while it is written, the others
// after it.
Status SampleThroughGateway(client::GatewayClient& gateway,
                            const client::CompletionOptions& request, const std::string& prompt,
                            const std::function<void(const std::string&)>& on_text) {
  std::vector<std::string> others(static_cast<size_t>(request.count - 1));
  bool begun = false;
  RETURN_IF_ERROR(gateway.Complete(request, [&](int index, const std::string& piece) {
    if (index > 0 && static_cast<size_t>(index) <= others.size()) others[index - 1] += piece;
    if (index != 0) return;
    on_text(begun ? piece : prompt + piece);
    begun = true;
  }));
  if (!begun) on_text(prompt);
  for (const std::string& other : others) on_text(kSeparator + prompt + other);
  on_text("\n");
  return OkStatus();
}

// Samples through the service's gateway. False if that is not possible (there is no gateway, it
// refuses, or it does not support the options); then nothing was printed.
StatusOr<bool> TryGateway(const ServedCheckpoint& served, const SampleOptions& options,
                          Session& session,
                          const std::function<void(const std::string&)>& on_text) {
  const auto address = FindGateway(session);
  const bool as_asked = options.precision == "auto" && options.count <= kGatewayCountMax;
  if (!address || served.id.empty() || !as_asked) return false;
  client::GatewayClient gateway({.address = *address}, session.console().interruption);
  bool printed = false;
  const Status status = SampleThroughGateway(gateway, ToCompletion(served.id, options),
                                             options.prompt, [&](const std::string& text) {
                                               printed = true;
                                               on_text(text);
                                             });
  if (status.ok()) return true;
  if (printed || status.code() == StatusCode::kCancelled) return status;
  return false;
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

// The status for gp-sampler's exit code. gp-sampler has printed its own message on stderr.
Status StatusOfSampler(int code, const std::string& directory) {
  switch (static_cast<ExitCode>(code)) {
    case ExitCode::kOk:
      return OkStatus();
    case ExitCode::kUsage:
      return InvalidArgument("gp-sampler refused {} (its message is above)", directory);
    case ExitCode::kNotFound:
      return NotFound("gp-sampler found no checkpoint in {}", directory);
    case ExitCode::kDamaged:
      return DataLoss("the checkpoint {} is damaged (gp-sampler's message is above)", directory);
    default:
      return Internal("gp-sampler could not sample from {} (exit code {})", directory, code);
  }
}

StatusOr<ExitCode> Sample(const SampleOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const ServedCheckpoint served, FindServed(options.reference, session));
  std::ostream& out = session.console().out;
  const bool clean = session.console().out_is_terminal;
  std::string text;
  const auto take = [&](const std::string& piece) {
    if (session.json()) {
      text += piece;
    } else {
      out << (clean ? SafeText(piece, session.utf8()) : piece) << std::flush;
    }
  };
  ASSIGN_OR_RETURN(const bool written, TryGateway(served, options, session, take));
  if (!written) RETURN_IF_ERROR(SampleCheckpoint(served.directory, options, session, take));
  if (session.json()) {
    Json document = Document("Samples");
    document["checkpoint"] = served.directory;
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
  ASSIGN_OR_RETURN(const int code, RunOwnProgram(session.console(), "gp-sampler",
                                                 SamplerArguments(directory, options), on_text));
  return StatusOfSampler(code, directory);
}

void AddTextFlags(Command command, SampleOptions& options) {
  command.Option("--max-tokens", options.max_tokens, "tokens to generate (200)")
      .Between(int64_t{1}, int64_t{1} << 30);
  command.Option("--temperature", options.temperature, "0 always takes the likeliest token (0.8)")
      .Between(0.0, 100.0);
  command
      .Option("--top-k", options.top_k,
              "choose from this many of the likeliest tokens; 0: all (50)")
      .NonNegative();
  command
      .Option("--top-p", options.top_p,
              "choose from the likeliest tokens whose probabilities add up to it (1)")
      .Between(0.0, 1.0);
  command
      .Option(
          "--min-p", options.min_p,
          "choose from tokens with at least this fraction of the likeliest one's probability (0)")
      .Between(0.0, 1.0);
  command
      .Option("--presence-penalty", options.presence_penalty,
              "subtracted from the logit of each token that has already occurred (0)")
      .Between(-2.0, 2.0);
  command
      .Option("--frequency-penalty", options.frequency_penalty,
              "subtracted from a token's logit once for each time it has occurred (0)")
      .Between(-2.0, 2.0);
  command.Option("--stop", options.stop, "the text ends before this string; may be repeated")
      .OneValueEach();
}

client::CompletionOptions ToCompletion(const std::string& model, const SampleOptions& options) {
  return {.model = model,
          .prompt = options.prompt,
          .max_tokens = options.max_tokens,
          .temperature = options.temperature,
          .top_k = options.top_k,
          .top_p = options.top_p,
          .min_p = options.min_p,
          .presence_penalty = options.presence_penalty,
          .frequency_penalty = options.frequency_penalty,
          .stop = options.stop,
          .seed = options.seed,
          .count = options.count};
}

void AddSampleCommand(CommandSet& commands) {
  const Command command =
      commands.Add("sample", kModelGroup, "Print text that a checkpoint generates");
  auto options = std::make_shared<SampleOptions>();
  command.Option("REF", options->reference, "RUN, RUN@STEP, RUN@best, or a checkpoint's directory")
      .Required();
  command.Option("-p,--prompt", options->prompt, "text to continue");
  AddTextFlags(command, *options);
  command.Option("--seed", options->seed, "the same seed gives the same text (1337)");
  command.Option("-n,--count", options->count, "how many samples (1)").Between(1, 10000);
  command.Option("--precision", options->precision, "fp32, bf16, or auto: as in the run (auto)")
      .OneOf({"auto", "fp32", "bf16"});
  commands.Bind(command, [options](Session& session) { return Sample(*options, session); });
}

}  // namespace gp::gpctl
