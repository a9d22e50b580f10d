#include "client/gpctl/session/session.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "base/file.h"
#include "base/text/namespace_name.h"
#include "base/text/nearest_word.h"
#include "base/text/shell_word.h"
#include "client/gpctl/service/local_service.h"
#include "client/gpctl/session/live_contexts.h"
#include "client/gpctl/terminal/hint.h"
#include "rpc/listen_address.h"
#include "rpc/status.h"
#include "rpc/tls.h"
#include "rpc/token.h"

namespace gp::gpctl {
namespace {

constexpr int kSuggestionRunsMax = 500;

StatusOr<Context> ServiceOfState(const std::string& state_dir) {
  RETURN_IF_ERROR(ServiceDirectory(state_dir).CheckOwner());
  StatusOr<Context> context = LoadStateContext(state_dir);
  if (context.status().code() == StatusCode::kNotFound) return Context{.state_dir = state_dir};
  if (context.ok()) context->state_dir = state_dir;
  return context;
}

StatusOr<Context> ServiceOfContext(const Console& console, const std::string& wanted) {
  const std::string path = ContextFilePath(console);
  ASSIGN_OR_RETURN(const ContextFile file, LoadContextFile(path));
  const std::string name = wanted.empty() ? file.current : wanted;
  if (name.empty()) {
    return Unavailable(
        "no coordinator is chosen{1}; start one on this machine with '{0} up', or log in to "
        "another one with '{0} login HOST:PORT --token-file FILE'",
        ProgramWord(console), OtherServiceText(console, ""));
  }
  const auto found = file.contexts.find(name);
  if (found != file.contexts.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& entry : file.contexts) names.push_back(entry.first);
  return NotFound("{} has no context '{}'{}", path, name, DidYouMean(name, names));
}

// The token from GPCTL_TOKEN, from the file in GPCTL_TOKEN_FILE, or from the context's file that
// 'gpctl login' wrote, in this order; empty if there is none.
StatusOr<std::string> TokenFor(const Console& console, const Context& service) {
  const std::string text = console.Variable("GPCTL_TOKEN");
  if (!text.empty()) {
    ASSIGN_OR_RETURN(const rpc::Token token, rpc::ParseToken(text));
    return rpc::TokenText(token);
  }
  const std::string named = console.Variable("GPCTL_TOKEN_FILE");
  const std::string path = named.empty() ? service.token_file : named;
  if (path.empty()) return std::string();
  ASSIGN_OR_RETURN(const rpc::Token token,
                   rpc::ReadTokenFile(AbsolutePath(path, console.working_directory)));
  return rpc::TokenText(token);
}

// Whether it cannot be a name, an id or NAMESPACE/NAME.
bool IsWrittenAsPath(const std::string& reference) {
  return reference.starts_with('.') || reference.starts_with('/') ||
         std::count(reference.begin(), reference.end(), '/') > 1;
}

}  // namespace

Status CheckServerAddress(const std::string& address) {
  constexpr std::string_view kSocket = "unix:";
  const bool is_socket = address.starts_with(kSocket) && address.size() > kSocket.size();
  const auto parsed = rpc::ParseListenAddress(address);
  if (is_socket || (parsed.ok() && parsed->port > 0)) return OkStatus();
  return InvalidArgument(
      "'{}' is not the address of a coordinator; expected HOST:PORT, such as 127.0.0.1:7070, or "
      "unix:PATH",
      address);
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& candidates) {
  const auto nearest = NearestWord(word, candidates);
  return nearest ? fmt::format("; did you mean '{}'?", *nearest) : "";
}

double Session::Now() const {
  const std::chrono::microseconds ahead(told_->clock_ahead_us);
  return std::chrono::duration<double>(console_.clock.WallNow().time_since_epoch() + ahead).count();
}

Session::Session(GlobalOptions options, Console& console)
    : options_(std::move(options)), console_(console) {}

std::string Session::StateDirectory() const {
  std::string directory = options_.state_dir;
  if (directory.empty()) directory = console_.Variable("GPCTL_STATE_DIR");
  if (directory.empty()) directory = DefaultStateDirectory(console_);
  return AbsolutePath(directory, console_.working_directory);
}

StatusOr<Context> Session::Service() const {
  if (!options_.server.empty()) return Context{.server = options_.server};
  if (!options_.state_dir.empty()) return ServiceOfState(StateDirectory());
  if (!options_.context.empty()) return ServiceOfContext(console_, options_.context);
  const std::string server = console_.Variable("GPCTL_SERVER");
  if (!server.empty()) return Context{.server = server};
  if (!console_.Variable("GPCTL_STATE_DIR").empty()) return ServiceOfState(StateDirectory());
  return ServiceOfContext(console_, console_.Variable("GPCTL_CONTEXT"));
}

StatusOr<std::string> Session::ServerAddress() const {
  ASSIGN_OR_RETURN(const Context service, Service());
  if (!service.server.empty()) return service.server;
  return NotFound("no service was started in {}; {} starts one", service.state_dir,
                  HintFor(service.state_dir, "up"));
}

StatusOr<std::string> Session::ServiceDirectoryPath() const {
  const StatusOr<Context> service = Service();
  if (service.status().code() == StatusCode::kUnavailable) return StateDirectory();
  RETURN_IF_ERROR(service.status());
  if (!service->state_dir.empty()) return service->state_dir;
  return InvalidArgument(
      "the coordinator at {} was not started by 'gpctl up' on this machine; name the state "
      "directory of one that was with --state-dir",
      service->server);
}

std::string Session::Hint(const std::string& command) const {
  std::string hint = ProgramWord(console_) + " " + command;
  const auto add = [&hint](const std::string& flag, const std::string& value) {
    if (!value.empty()) hint += " " + flag + " " + ShellWord(value);
  };
  add("--server", options_.server);
  if (!options_.state_dir.empty()) add("--state-dir", StateDirectory());
  add("--context", options_.context);
  add("--namespace", options_.run_namespace);
  return hint;
}

std::string Session::HintFor(const std::string& state_dir, const std::string& command) const {
  std::string hint = ProgramWord(console_) + " " + command;
  bool redirected = false;
  for (const char* name : {"GPCTL_SERVER", "GPCTL_STATE_DIR", "GPCTL_CONTEXT"}) {
    redirected = redirected || !console_.Variable(name).empty();
  }
  if (state_dir == DefaultStateDirectory(console_) && !redirected) return hint;
  return hint + " --state-dir " + ShellWord(state_dir);
}

// Unavailable if the local service in `state_dir` is stopped, so that a call does not wait for it.
Status Session::CheckServiceRuns(const std::string& state_dir) const {
  ASSIGN_OR_RETURN(const bool runs, ServiceRuns(ServiceDirectory(state_dir)));
  if (runs) return OkStatus();
  return Unavailable("the service in {} is stopped; {} starts it{}", state_dir,
                     HintFor(state_dir, "up"), OtherServiceText(console_, state_dir));
}

StatusOr<client::RunClientOptions> Session::ClientOptions() const {
  ASSIGN_OR_RETURN(const Context service, Service());
  client::RunClientOptions options;
  ASSIGN_OR_RETURN(options.address, ServerAddress());
  RETURN_IF_ERROR(CheckServerAddress(options.address));
  ASSIGN_OR_RETURN(const auto timeout, ParseDuration(options_.timeout));
  options.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
  options.on_header = [told = told_.get(), &clock = console_.clock](const auto& header) {
    if (header.now) told->clock_ahead_us = (*header.now - clock.WallNow()).count();
    told->insecure = header.insecure;
  };
  ASSIGN_OR_RETURN(options.credentials.token, TokenFor(console_, service));
  const std::string ca = console_.Variable("GPCTL_CA_FILE");
  const std::string ca_file = ca.empty() ? service.ca_file : ca;
  if (!ca_file.empty() && !options.address.starts_with("unix:")) {
    options.tls = rpc::ChannelTls{.ca = ca_file};
    RETURN_IF_ERROR(rpc::CheckTls(*options.tls));
  }
  return options;
}

std::string Session::Namespace() const {
  if (!options_.run_namespace.empty()) return options_.run_namespace;
  const StatusOr<Context> service = Service();
  return service.ok() ? service->run_namespace : "";
}

std::string Session::NamespaceOfRuns() const {
  const std::string name = Namespace();
  return name == kEveryNamespace ? "" : name;
}

StatusOr<std::unique_ptr<client::AccessClient>> Session::NewAccessClient() const {
  ASSIGN_OR_RETURN(client::RunClientOptions options, ClientOptions());
  return std::make_unique<client::AccessClient>(std::move(options), console_.interruption);
}

StatusOr<std::unique_ptr<client::RunClient>> Session::NewClient(
    client::Interruption& interruption, std::function<void(const std::string&)> on_waiting) const {
  ASSIGN_OR_RETURN(const Context service, Service());
  ASSIGN_OR_RETURN(client::RunClientOptions options, ClientOptions());
  options.on_waiting = std::move(on_waiting);
  if (!service.state_dir.empty()) {
    options.check_service = [this, state_dir = service.state_dir] {
      return CheckServiceRuns(state_dir);
    };
  }
  return std::make_unique<client::RunClient>(std::move(options), interruption);
}

StatusOr<client::RunClient*> Session::Client() {
  if (client_ == nullptr) {
    ASSIGN_OR_RETURN(client_, NewClient(console_.interruption, [this](const std::string& message) {
                       console_.err << message << std::endl;
                     }));
  }
  return client_.get();
}

bool Session::WarnIfInsecure() {
  if (!told_->insecure) return false;
  console_.err << fmt::format(
      "warning: the coordinator at {} serves a port without TLS (--insecure): anyone who reaches "
      "it may do anything\n",
      client_->address());
  return true;
}

std::string Session::WithNamespace(const std::string& reference) const {
  const std::string name = NamespaceOfRuns();
  const bool qualified = name.empty() || reference.find('/') != std::string::npos;
  return qualified ? reference : name + "/" + reference;
}

StatusOr<v1::Run> Session::FindRun(const std::string& reference) {
  ASSIGN_OR_RETURN(client::RunClient * client, Client());
  StatusOr<v1::Run> run = client->Get(WithNamespace(reference));
  if (run.status().code() == StatusCode::kFailedPrecondition)
    return NotFound("{}", Message(run.status()));
  const bool is_missing = run.status().code() == StatusCode::kNotFound;
  const bool is_deleted = rpc::ReasonOf(run.status()) == rpc::kRunDeleted;
  if (is_missing && !is_deleted) return ExplainMissingRun(reference);
  return run;
}

// Suggests other services that may have the run, unless a flag has named the service.
std::string Session::OtherServices() const {
  if (!options_.server.empty() || !options_.state_dir.empty()) return "";
  const StatusOr<Context> service = Service();
  if (!service.ok() || service->state_dir.empty()) return "";
  return OtherServiceText(console_, service->state_dir);
}

Status Session::ExplainMissingRun(const std::string& reference) {
  v1::ListRequest request;
  request.set_include_finished(true);
  request.set_limit(kSuggestionRunsMax);
  request.set_namespace_(NamespaceOfRuns());
  std::vector<std::string> known;
  const std::string others = OtherServices();
  const auto runs = client_->List(request);
  if (runs.ok()) {
    for (const v1::Run& run : runs->runs()) known.push_back(run.name());
    for (const v1::Run& run : runs->runs()) known.push_back(run.run_id());
  }
  if (known.empty()) {
    return NotFound("run '{}' does not exist: there are no runs yet{}", reference, others);
  }
  if (IsWrittenAsPath(reference)) {
    return NotFound(
        "run '{}' does not exist: it is written as a path; expected a name, an id, or "
        "NAMESPACE/NAME; '{}' shows them all{}",
        reference, Hint("list -a"), others);
  }
  const size_t at = reference.find('@');
  if (at != std::string::npos && at > 0) {
    return NotFound("'{}' names a checkpoint; expected a run, such as '{}'", reference,
                    reference.substr(0, at));
  }
  const std::string proposal = DidYouMean(reference, known);
  return NotFound(
      "run '{}' does not exist{}{}", reference,
      proposal.empty() ? fmt::format("; '{}' shows them all", Hint("list -a")) : proposal, others);
}

}  // namespace gp::gpctl
