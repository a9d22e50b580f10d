// gpctl fork.
#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

#include "base/file.h"
#include "base/text/shell_word.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/legs/fork_run_file.h"
#include "client/gpctl/commands/legs/fork_text.h"
#include "client/gpctl/commands/submit.h"
#include "client/gpctl/commands/watch.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/session/label_flag.h"
#include "formats/checkpoint_directory.h"

namespace gp::gpctl {
namespace {

constexpr size_t kNameBytesMax = 63;
constexpr int kListedRunsMax = 1000;
constexpr std::string_view kFork = "-fork";

struct ForkOptions {
  std::string reference;
  ForkRequest request;
  std::string name;
  std::vector<std::string> labels;
  std::string request_id;
  bool detach = false;
  bool wait = false;
  bool dry_run = false;
};

// "base-fork" for "base", "base-fork" and "base-fork-3".
std::string ForkNameOf(std::string name) {
  const size_t fork = name.rfind(kFork);
  if (fork != std::string::npos && fork > 0) {
    std::string_view rest = std::string_view(name).substr(fork + kFork.size());
    if (rest.starts_with('-')) rest.remove_prefix(1);
    const bool numbered =
        rest.find_first_not_of("0123456789") == std::string_view::npos && rest.size() < 6;
    if (numbered) name.resize(fork);
  }
  name.resize(std::min(name.size(), kNameBytesMax - kFork.size()));
  return name + std::string(kFork);
}

std::string Numbered(const std::string& name, int number) {
  const std::string end = fmt::format("-{}", number);
  return name.substr(0, kNameBytesMax - end.size()) + end;
}

// A name that no run has, also none that has ended: "base-fork", then "base-fork-2". A repeated
// request gets the name of the run that it made.
StatusOr<std::string> FreeForkName(const ForkSource& source, const std::string& request_id,
                                   Session& session) {
  const std::string wanted = ForkNameOf(source.run.empty() ? "run" : source.run);
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  v1::ListRequest request;
  request.set_include_finished(true);
  request.set_namespace_(session.NamespaceOfRuns());
  // A long name may be cut to make room for the number at its end.
  request.set_search(wanted.substr(0, wanted.size() - std::string_view("fork").size()));
  request.set_limit(kListedRunsMax);
  ASSIGN_OR_RETURN(const v1::ListResponse listed, client->List(request));
  std::set<std::string> taken;
  for (const v1::Run& run : listed.runs()) {
    if (!request_id.empty() && run.request_id() == request_id) return run.name();
    taken.insert(run.name());
  }
  std::string name = wanted;
  for (int number = 2; taken.contains(name); ++number) name = Numbered(wanted, number);
  return name;
}

// Whether the checkpoint can be read here; the storage of a service elsewhere may not be mounted.
bool IsHere(const ForkSource& source) {
  return FileExists(JoinPath(source.directory, formats::kManifestName));
}

// Refuses another tokenizer, for which an ordinary run with init_from is only warned: the ids of
// the checkpoint would mean other tokens.
Status CheckTokenizer(const ForkSource& source, const ForkRunFile& fork, Session& session) {
  const bool changes = std::any_of(fork.changes.begin(), fork.changes.end(),
                                   [](const auto& one) { return one.key == "data.tokenizer"; });
  if (!changes) return OkStatus();
  if (!IsHere(source)) {
    return InvalidArgument(
        "--set data.tokenizer: a fork has the tokenizer of its checkpoint, and {} cannot be read "
        "here to compare it",
        source.directory);
  }
  const auto result = CheckRunFile(fork.file, {fork.overrides, {}}, session);
  if (!result.spec) return ProblemsStatus(result);
  for (const ConfigProblem& warning : result.warnings) {
    if (warning.key != "data.tokenizer") continue;
    return InvalidArgument("{}a fork has the tokenizer of its checkpoint",
                           RenderProblems({warning}));
  }
  return OkStatus();
}

StatusOr<ExitCode> PrintDryRun(const v1::SubmitResponse& response, const std::string& text,
                               Session& session) {
  Console& console = session.console();
  if (session.json()) {
    console.out << Pretty(With("Run", RunFields(response.run())));
    return ExitCode::kOk;
  }
  console.out << fmt::format("{} would be a new run\n", response.run().name()) << text;
  console.err << "Nothing was submitted (--dry-run).\n";
  return ExitCode::kOk;
}

// The command as it was typed, without a budget.
std::string CommandOf(const ForkOptions& options, Session& session) {
  std::string command = session.Hint("fork " + ShellWord(options.reference));
  for (const std::string& one : options.request.overrides) {
    if (!one.starts_with("budget.")) command += " --set " + ShellWord(one);
  }
  if (!options.name.empty()) command += " --name " + ShellWord(options.name);
  for (const std::string& label : options.labels) command += " --label " + ShellWord(label);
  if (options.request.reset_optimizer) command += " --reset-optimizer";
  return command;
}

StatusOr<ExitCode> Fork(const ForkOptions& options, Session& session) {
  if (options.wait && options.detach) {
    return InvalidArgument("--wait and --detach exclude each other");
  }
  ASSIGN_OR_RETURN(const ForkSource source, FindForkSource(options.reference, session));
  ForkRequest request = options.request;
  const bool named = !options.name.empty() ||
                     std::any_of(request.overrides.begin(), request.overrides.end(),
                                 [](const auto& one) { return one.starts_with("name="); });
  request.name = options.name;
  ASSIGN_OR_RETURN(const auto labels, LabelSettings(options.labels));
  request.overrides.insert(request.overrides.end(), labels.begin(), labels.end());
  if (!named) {
    ASSIGN_OR_RETURN(request.name, FreeForkName(source, options.request_id, session));
  }
  ASSIGN_OR_RETURN(const ForkRunFile fork,
                   MakeForkRunFile(source, request, CommandOf(options, session)));
  RETURN_IF_ERROR(CheckTokenizer(source, fork, session));
  const std::string text = ForkText(source, fork);
  if (!session.json() && !options.dry_run) session.console().err << text;
  const SubmitOptions submit{.overrides = fork.overrides,
                             .name = options.name,
                             .request_id = options.request_id,
                             .dry_run = options.dry_run,
                             .reads_model = IsHere(source),
                             .tells_idle_slots = false};  // more ranks may need a larger batch
  ASSIGN_OR_RETURN(const v1::SubmitResponse response, SubmitRunFile(fork.file, submit, session));
  if (options.dry_run) return PrintDryRun(response, text, session);
  if (options.wait) {
    if (!session.json()) PrintSubmitted(response, session);
    return FollowRun(response.run(), WatchOptions{.last_document_only = true}, session);
  }
  PrintSubmitted(response, session);
  if (!session.json()) {
    session.console().err << fmt::format("Watch it: {}\n",
                                         session.Hint("watch " + response.run().name()));
  }
  return ExitCode::kOk;
}

}  // namespace

void AddForkCommand(CommandSet& commands) {
  const Command command = commands.Add(
      "fork", kRunGroup, "Begin a new run from a checkpoint, with its optimizer and its data");
  auto options = std::make_shared<ForkOptions>();
  ForkRequest& request = options->request;
  command
      .Option("REF", options->reference,
              "RUN, RUN@STEP, RUN@best, or the directory of a checkpoint or a run")
      .Path()
      .Required();
  command
      .Option("--set", request.overrides,
              "path=value, overrides the parent's run file; may be repeated. Keys of data and the "
              "seed imply --reset-data")
      .OneValueEach();
  command.Option("--name", options->name, "name of the new run (default: the parent's, with -fork)")
      .NotEmpty();
  command.Option("--label", options->labels, kLabelHelp).OneValueEach();
  command.Option("--steps", request.steps, "its last step, or +N for N steps after the checkpoint");
  command.Option("--tokens", request.tokens,
                 "its total tokens, with the parent's, or +N for N tokens after the checkpoint");
  command.Switch("--reset-optimizer", request.reset_optimizer, "begin with a new optimizer state");
  command.Switch("--reset-data", request.reset_data,
                 "begin at the start of the data, with step 0 and the start of the schedule");
  command.Option("--request-id", options->request_id,
                 "a repeated fork with the same id gives the same run");
  command.Switch("-d,--detach", options->detach, "return at once (default)");
  command.Switch("--wait", options->wait,
                 "wait until it ends; exit code 7 if it failed, 8 if it was cancelled");
  command.Switch("--dry-run", options->dry_run,
                 "check here and at the server, show what would happen, submit nothing");
  commands.Bind(command, [options](Session& session) { return Fork(*options, session); });
}

}  // namespace gp::gpctl
