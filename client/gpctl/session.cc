#include "client/gpctl/session.h"

#include <utility>
#include <vector>

#include "base/duration.h"
#include "base/file.h"
#include "base/nearest_word.h"
#include "client/gpctl/context_file.h"

namespace gp::gpctl {
namespace {

constexpr int kSuggestionRunsMax = 500;

StatusOr<std::string> ServerOfState(const std::string& state_dir) {
  ASSIGN_OR_RETURN(const Context context, LoadStateContext(state_dir));
  return context.server;
}

StatusOr<std::string> ServerOfContext(const Console& console, const std::string& wanted) {
  const std::string path = ContextFilePath(console);
  ASSIGN_OR_RETURN(const ContextFile file, LoadContextFile(path));
  const std::string name = wanted.empty() ? file.current : wanted;
  if (name.empty()) {
    return Unavailable(
        "no coordinator is known; start one on this machine with 'gpctl up', or name one with "
        "--server HOST:PORT");
  }
  const auto found = file.contexts.find(name);
  if (found != file.contexts.end()) return found->second.server;
  std::vector<std::string> names;
  for (const auto& entry : file.contexts) names.push_back(entry.first);
  return NotFound("{} has no context '{}'{}", path, name, DidYouMean(name, names));
}

}  // namespace

std::string DidYouMean(const std::string& word, const std::vector<std::string>& candidates) {
  const auto nearest = NearestWord(word, candidates);
  return nearest ? fmt::format("; did you mean '{}'?", *nearest) : "";
}

double Session::Now() const {
  return std::chrono::duration<double>(console_.clock.WallNow().time_since_epoch()).count();
}

Session::Session(GlobalOptions options, Console& console)
    : options_(std::move(options)), console_(console) {}

std::string Session::StateDirectory() const {
  std::string directory = options_.state_dir;
  if (directory.empty()) directory = console_.Variable("GPCTL_STATE_DIR");
  if (directory.empty()) directory = DefaultStateDirectory(console_);
  return AbsolutePath(directory, console_.working_directory);
}

StatusOr<std::string> Session::ServerAddress() const {
  if (!options_.server.empty()) return options_.server;
  if (!options_.state_dir.empty()) return ServerOfState(StateDirectory());
  if (!options_.context.empty()) return ServerOfContext(console_, options_.context);
  const std::string server = console_.Variable("GPCTL_SERVER");
  if (!server.empty()) return server;
  if (!console_.Variable("GPCTL_STATE_DIR").empty()) return ServerOfState(StateDirectory());
  return ServerOfContext(console_, console_.Variable("GPCTL_CONTEXT"));
}

StatusOr<std::unique_ptr<client::RunClient>> Session::NewClient(
    client::Interruption& interruption, std::function<void(const std::string&)> on_waiting) const {
  ASSIGN_OR_RETURN(const std::string address, ServerAddress());
  ASSIGN_OR_RETURN(const auto timeout, ParseDuration(options_.timeout));
  client::RunClientOptions options;
  options.address = address;
  options.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
  options.on_waiting = std::move(on_waiting);
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

StatusOr<v1::Run> Session::FindRun(const std::string& reference) {
  ASSIGN_OR_RETURN(client::RunClient * client, Client());
  StatusOr<v1::Run> run = client->Get(reference);
  if (run.status().code() == StatusCode::kFailedPrecondition)
    return NotFound("{}", Message(run.status()));
  if (run.status().code() == StatusCode::kNotFound) return ExplainMissingRun(reference);
  return run;
}

Status Session::ExplainMissingRun(const std::string& reference) {
  v1::ListRequest request;
  request.set_include_finished(true);
  request.set_limit(kSuggestionRunsMax);
  std::vector<std::string> known;
  const auto runs = client_->List(request);
  if (runs.ok()) {
    for (const v1::Run& run : runs->runs()) known.push_back(run.name());
    for (const v1::Run& run : runs->runs()) known.push_back(run.run_id());
  }
  if (known.empty()) return NotFound("run '{}' does not exist: there are no runs yet", reference);
  const std::string proposal = DidYouMean(reference, known);
  return NotFound("run '{}' does not exist{}", reference,
                  proposal.empty() ? "; 'gpctl list -a' shows them all" : proposal);
}

}  // namespace gp::gpctl
