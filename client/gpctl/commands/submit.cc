// gpctl submit.
#include "client/gpctl/commands/submit.h"

#include <memory>
#include <set>

#include "base/machine/available_memory.h"
#include "client/api/run_state_name.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/submit_cluster.h"
#include "client/gpctl/commands/watch.h"
#include "client/gpctl/data/data_check.h"
#include "client/gpctl/render/node_text.h"
#include "client/gpctl/render/plan_text.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/session/label_flag.h"
#include "client/gpctl/session/setting_file.h"
#include "client/gpctl/terminal/display_text.h"
#include "rpc/listen_address.h"
#include "runspec/schema.h"

namespace gp::gpctl {
namespace {

// A coordinator on a Unix socket runs on this machine, so relative paths mean the same there.
bool IsSocket(const std::string& address) { return address.starts_with("unix:"); }

// Refuses relative paths unless the server knows where they start.
Status CheckPathsFor(const std::string& address, const RunFileText& file,
                     const std::vector<std::string>& overrides) {
  if (IsSocket(address)) return OkStatus();
  const auto result = runspec::LoadRunFile(file.text, file.name, overrides);
  if (!result.spec) return OkStatus();
  const runspec::DataSpec& data = result.spec->data;
  std::vector<std::string> paths;
  for (const auto* list : {&data.text, &data.train, &data.stream, &data.val}) {
    paths.insert(paths.end(), list->begin(), list->end());
  }
  if (runspec::NamesFile(*runspec::FindField("data.tokenizer"), data.tokenizer)) {
    paths.push_back(data.tokenizer);
  }
  for (const std::string& path : paths) {
    if (path.starts_with('/')) continue;
    return InvalidArgument(
        "{}: '{}' is relative to this machine, but the coordinator is at {}; give the absolute "
        "path that the workers see",
        file.name, path, address);
  }
  return OkStatus();
}

// Warns when the run may not fit into memory, or could lose hours of work. gpctl can read this
// machine's memory and processor only, so it warns only when the service runs here.
void WarnOfPlan(const std::string& address, const runspec::RunSpec& spec, Console& console) {
  if (!rpc::IsLocalAddress(address)) return;
  const AvailableMemory memory = ReadAvailableMemory();
  for (const auto& warning : {MemoryWarning(spec, memory), LostWorkWarning(spec, memory)}) {
    if (warning) console.err << "warning: " << *warning << "\n";
  }
}

// Tells the user how many slots stay idle, if the service has one node on this machine: probably
// nobody else uses them.
void TellIdleSlots(client::RunClient& client, const runspec::RunSpec& spec,
                   const std::string& run_id, Console& console) {
  if (!rpc::IsLocalAddress(client.address()) || spec.resources.device != "cpu") return;
  const auto nodes = client.Nodes();
  if (!nodes.ok() || nodes->nodes_size() != 1) return;
  const int free = FreeSlots(nodes->nodes(0), false, run_id);
  if (spec.resources.workers >= free) return;
  console.err << fmt::format(
      "note: the run takes {} of {} free slots, each with its own cores; --set "
      "resources.workers={} takes all of them\n",
      spec.resources.workers, free, free);
}

// Checks the run's data like 'gpctl validate', with the same messages.
Status CheckDataFor(const std::string& address, const RunFileText& file,
                    const runspec::RunSpec& spec, Console& console) {
  const DataCheck data = CheckData(spec, address);
  if (data.refused) return InvalidArgument("{}: {}", file.name, data.problem);
  console.Warn(WarningsOf(data));
  return OkStatus();
}

std::string SubmittedText(const v1::SubmitResponse& response) {
  const v1::Run& run = response.run();
  return fmt::format("{} {} ({}): {}\n", response.replayed() ? "Submitted before:" : "Submitted",
                     run.name(), run.run_id(),
                     run.reason().empty() ? client::StateName(run.state()) : run.reason());
}

StatusOr<ExitCode> DryRun(const RunFileText& file, const SubmitOptions& options, Session& session) {
  auto result = CheckRunFileOf(file, options.name, SettingsOf(options), session);
  if (!result.spec) return ProblemsStatus(result);
  ASSIGN_OR_RETURN(const v1::SubmitResponse response, SubmitRunFile(file, options, session));
  // Another live run may have the file's name; the coordinator then chooses a similar one.
  if (!response.run().name().empty()) result.spec->name = response.run().name();
  Json document = Document("Plan");
  const AvailableMemory memory = ReadAvailableMemory();
  document.update(PlanFields(*result.spec, memory));
  session.console().out << (session.json() ? Pretty(document)
                                           : WrappedBelowText(PlanText(*result.spec, memory),
                                                              session.width()));
  if (!session.json()) session.console().err << "Nothing was submitted (--dry-run).\n";
  return ExitCode::kOk;
}

// -o yaml is allowed only for printing a JobSet, which is always YAML.
Status CheckOutput(const SubmitOptions& options, const Session& session) {
  const bool job_set = options.backend == "k8s" && options.dry_run;
  const std::string& output = session.options().output;
  if (job_set && output == "json") {
    return InvalidArgument("a JobSet is printed as YAML; leave -o json out");
  }
  if (job_set || output != "yaml") return OkStatus();
  return InvalidArgument("-o yaml is for --backend k8s --dry-run; expected text or json");
}

void AddClusterFlags(const Command& command, SubmitOptions& options) {
  const std::string group = "Kubernetes";
  command
      .Option("--backend", options.backend,
              "service (default); k8s: also create a JobSet with agents for the run")
      .OneOf({"service", "k8s"})
      .Group(group);
  JobSetOptions& set = options.job_set;
  command.Option("--queue", set.queue, "Kueue's queue for the JobSet").Group(group);
  command
      .Option("--cluster-namespace", set.cluster_namespace, "Kubernetes' namespace (default: gp)")
      .Group(group);
  command.Option("--image-prefix", set.image_prefix, "where the images are, as registry.example/")
      .Group(group);
  command
      .Option("--memory", set.memory,
              "of each agent, such as 16Gi (default: 2Gi for each CPU, 32Gi for each GPU)")
      .Group(group);
  command
      .Option("--gpus-per-agent", set.gpus_per_agent,
              "GPUs of each agent (default: the run's, at most 8)")
      .Between(1, 64)
      .Group(group);
}

StatusOr<ExitCode> Submit(const SubmitOptions& given, Session& session) {
  SubmitOptions options = given;
  if (options.wait && options.detach)
    return InvalidArgument("--wait and --detach exclude each other");
  ASSIGN_OR_RETURN(Settings settings,
                   SettingsOf(given.set_files, given.overrides, session.console()));
  ASSIGN_OR_RETURN(const auto labels, LabelSettings(given.labels));
  settings.values.insert(settings.values.end(), labels.begin(), labels.end());
  options.overrides = std::move(settings.values);
  options.override_sources = std::move(settings.sources);
  const bool cluster = options.backend == "k8s";
  RETURN_IF_ERROR(CheckOutput(options, session));
  ASSIGN_OR_RETURN(const RunFileText file, ReadRunFile(options.file, session.console()));
  if (options.dry_run) {
    return cluster ? PrintJobSet(file, options, session) : DryRun(file, options, session);
  }
  ASSIGN_OR_RETURN(const v1::SubmitResponse response, cluster
                                                          ? SubmitToCluster(file, options, session)
                                                          : SubmitRunFile(file, options, session));
  if (!options.wait) {
    PrintSubmitted(response, session);
    if (!session.json())
      session.console().err << fmt::format("Watch it: {}\n",
                                           session.Hint("watch " + response.run().name()));
    return ExitCode::kOk;
  }
  if (!session.json()) PrintSubmitted(response, session);
  return FollowRun(response.run(), WatchOptions{.last_document_only = true}, session);
}

runspec::RunFileResult CheckForSubmit(const RunFileText& file, const SubmitOptions& options,
                                      Session& session) {
  if (options.reads_model) {
    return CheckRunFileOf(file, options.name, SettingsOf(options), session);
  }
  std::vector<std::string> overrides = options.overrides;
  if (!options.name.empty()) overrides.push_back("name=" + options.name);
  return runspec::LoadRunFile(file.text, file.name, overrides,
                              {.base_directory = file.directory,
                               .override_directory = session.console().working_directory,
                               .override_sources = options.override_sources});
}

// Prints the server's warnings, except those that gpctl has printed: the server checks the run file
// again and repeats them.
void TellNewWarnings(const v1::SubmitResponse& response, const runspec::RunFileResult& checked,
                     Console& console) {
  std::set<std::string> told;
  for (ConfigProblem warning : checked.warnings) {
    told.insert(RenderProblems({warning}, "warning"));
    // The server does not have the files of settings.
    warning.source = "--set " + warning.key;
    told.insert(RenderProblems({warning}, "warning"));
  }
  for (const std::string& warning : response.warnings()) {
    if (!told.contains(warning)) console.Warn({warning});
  }
}

}  // namespace

Settings SettingsOf(const SubmitOptions& options) {
  return {options.overrides, options.override_sources};
}

Status CheckInputs(const std::string& address, const RunFileText& file,
                   const std::vector<std::string>& overrides, const runspec::RunSpec& spec,
                   Console& console) {
  RETURN_IF_ERROR(CheckPathsFor(address, file, overrides));
  return CheckDataFor(address, file, spec, console);
}

std::string BaseDirectoryFor(const std::string& address, const RunFileText& file) {
  return IsSocket(address) ? file.directory : "";
}

void PrintSubmitted(const v1::SubmitResponse& response, Session& session) {
  Json document = With("Run", RunFields(response.run()));
  document["replayed"] = response.replayed();
  session.console().PrintChange(session.json() ? Pretty(document) : SubmittedText(response));
}

StatusOr<v1::SubmitResponse> SubmitRunFile(const RunFileText& file, const SubmitOptions& options,
                                           Session& session) {
  const auto result = CheckForSubmit(file, options, session);
  if (!result.spec) return ProblemsStatus(result);
  if (!result.warnings.empty()) session.console().err << RenderProblems(result.warnings, "warning");
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  RETURN_IF_ERROR(
      CheckInputs(client->address(), file, options.overrides, *result.spec, session.console()));
  WarnOfPlan(client->address(), *result.spec, session.console());
  v1::SubmitRequest request;
  request.set_request_id(options.request_id);
  request.set_source(file.text);
  request.set_source_name(file.name);
  request.set_base_directory(BaseDirectoryFor(client->address(), file));
  for (const std::string& text : AbsoluteOverrides(options.overrides, *result.spec))
    request.add_overrides(text);
  request.set_name(options.name);
  request.set_namespace_(session.NamespaceOfRuns());
  request.set_dry_run(options.dry_run);
  ASSIGN_OR_RETURN(v1::SubmitResponse response, client->Submit(request));
  if (options.tells_idle_slots) {
    TellIdleSlots(*client, *result.spec, response.run().run_id(), session.console());
  }
  TellNewWarnings(response, result, session.console());
  return response;
}

namespace {

// The flags of submit and run.
void AddRunFlags(const Command& command, SubmitOptions& options) {
  command.Option("FILE", options.file, "run file, or - for standard input").Path().Required();
  command.Option("--set", options.overrides, "path=value, overrides the file; may be repeated")
      .OneValueEach();
  command
      .Option("--set-file", options.set_files,
              "file with a line path=value for each setting; --set wins over it; may be repeated")
      .Path()
      .OneValueEach();
  command.Option("--name", options.name, "name of the run (default: the file's)").NotEmpty();
  command.Option("--label", options.labels, kLabelHelp).OneValueEach();
  command.Option("--request-id", options.request_id,
                 "a repeated submit with the same id gives the same run");
}

}  // namespace

void AddSubmitCommand(CommandSet& commands) {
  const Command command = commands.Add("submit", kRunGroup, "Start a run from a run file");
  auto options = std::make_shared<SubmitOptions>();
  AddRunFlags(command, *options);
  command.Switch("-d,--detach", options->detach, "return at once (default)");
  command.Switch("--wait", options->wait,
                 "wait until it ends; exit code 7 if it failed, 8 if it was cancelled");
  command.Switch("--dry-run", options->dry_run,
                 "check here and at the server, show the plan, submit nothing");
  AddClusterFlags(command, *options);
  commands.Bind(command, [options](Session& session) { return Submit(*options, session); });
}

void AddRunCommand(CommandSet& commands) {
  const Command command = commands.Add(
      "run", kRunGroup, "Start a run from a run file and follow it: submit and watch in one");
  auto options = std::make_shared<SubmitOptions>();
  options->wait = true;
  AddRunFlags(command, *options);
  command.Footer(
      "After Ctrl-C the run continues. Exit code 7 if it failed, 8 if it was cancelled.");
  commands.Bind(command, [options](Session& session) { return Submit(*options, session); });
}

}  // namespace gp::gpctl
