// gpctl serve.
#include "client/gpctl/commands/models/serve.h"

#include "base/file.h"
#include "base/text/shell_word.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "rpc/listen_address.h"

namespace gp::gpctl {
namespace {

// The usual address; another port is used when something listens there.
constexpr char kUsualAddress[] = "127.0.0.1:8080";

struct ServeOptions {
  std::string reference;
  std::string listen;
  bool insecure = false;
  std::string precision;
  int threads = 0;
};

StatusOr<std::string> WantedAddress(const ServeOptions& options) {
  if (options.listen.empty()) {
    const auto usual = rpc::ParseListenAddress(kUsualAddress);
    return std::string(rpc::CheckBindable(*usual).ok() ? kUsualAddress : "127.0.0.1:0");
  }
  const auto address = rpc::ParseListenAddress(options.listen);
  RETURN_IF_ERROR(WithContext(address.status(), "--listen"));
  RETURN_IF_ERROR(WithContext(rpc::CheckPrivate(*address, options.insecure), "--listen"));
  if (address->is_socket()) {
    return InvalidArgument("--listen {}: browsers need a HOST:PORT", options.listen);
  }
  return options.listen;
}

std::string CurlLine(const std::string& address, const std::string& model) {
  const Json request = {{"model", model}, {"prompt", "The "}, {"max_tokens", 40}};
  return fmt::format("curl http://{}/v1/completions -H 'Content-Type: application/json' -d {}",
                     address, ShellWord(request.dump()));
}

// `address`, or if it means all addresses, one that a client on this machine can use.
std::string ReachableText(const std::string& address) {
  const auto parsed = rpc::ParseListenAddress(address);
  return parsed.ok() ? parsed->Reachable().Text() : address;
}

void PrintServed(const ServedCheckpoint& served, const PrivateGateway& gateway, Session& session) {
  const std::string address = ReachableText(gateway.address());
  if (session.json()) {
    Json document = Document("Gateway");
    document["address"] = "http://" + address;
    document["model"] = served.model;
    document["checkpoint"] = served.directory;
    document["pid"] = gateway.pid();
    session.console().PrintChange(Pretty(document));
    return;
  }
  session.console().PrintChange(
      fmt::format("serving      {}   {}\n"
                  "playground   http://{}/\n"
                  "try          {}\n"
                  "stop         Ctrl-C\n",
                  served.model, served.directory, address, CurlLine(address, served.model)));
}

StatusOr<ExitCode> Serve(const ServeOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const std::string listen, WantedAddress(options));
  ASSIGN_OR_RETURN(const ServedCheckpoint served, FindServed(options.reference, session));
  ASSIGN_OR_RETURN(const auto gateway, StartPrivateGateway(served,
                                                           {.listen = listen,
                                                            .insecure = options.insecure,
                                                            .precision = options.precision,
                                                            .threads = options.threads},
                                                           session));
  PrintServed(served, *gateway, session);
  RETURN_IF_ERROR(gateway->Await(session.console().interruption));
  session.console().err << "Stopped.\n";
  return ExitCode::kOk;
}

}  // namespace

StatusOr<std::unique_ptr<PrivateGateway>> StartPrivateGateway(const ServedCheckpoint& served,
                                                              PrivateGatewayOptions options,
                                                              Session& session) {
  if (!FileExists(served.directory)) return NotFound("{} does not exist", served.directory);
  options.program = JoinPath(session.console().program_directory, "gp-gateway");
  options.model = served.name;
  options.directory = served.directory;
  auto gateway = PrivateGateway::Start(options, session.console().interruption);
  if (gateway.status().code() != StatusCode::kNotFound) return gateway;
  return FailedPrecondition("{} is missing: it belongs beside gpctl; build it with 'make programs'",
                            options.program);
}

void AddServeCommand(CommandSet& commands) {
  const Command command = commands.Add(
      "serve", kModelGroup, "Serve one checkpoint over HTTP: OpenAI's API and a playground");
  auto options = std::make_shared<ServeOptions>();
  command.Option("REF", options->reference, "RUN, RUN@STEP, RUN@best, or a checkpoint's directory")
      .Required();
  command.Option("--listen", options->listen,
                 "HOST:PORT; port 0: a free one (127.0.0.1:8080, or a free port when that is in "
                 "use)");
  command.Switch("--insecure", options->insecure, "let --listen be reached from other machines");
  command.Option("--precision", options->precision, "fp32, bf16, or auto: as in the run (auto)")
      .OneOf({"auto", "fp32", "bf16"});
  command
      .Option("--threads", options->threads, "threads to compute with (default: one per processor)")
      .Between(1, 4096);
  commands.Bind(command, [options](Session& session) { return Serve(*options, session); });
}

}  // namespace gp::gpctl
