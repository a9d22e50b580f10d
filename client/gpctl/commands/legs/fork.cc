// gpctl fork.
#include <algorithm>
#include <memory>

#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/legs/legs.h"
#include "client/gpctl/commands/submit.h"
#include "client/gpctl/commands/watch.h"
#include "client/gpctl/render/leg_text.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/session/checkpoint_reference.h"

namespace gp::gpctl {
namespace {

struct ForkOptions {
  std::string reference;
  std::vector<std::string> overrides;
  std::string name;
  std::string request_id;
  bool reset_optimizer = false;
  bool reset_data = false;
  bool dry_run = false;
  bool wait = false;
};

// What the fork begins from.
struct Origin {
  v1::Run run;
  std::string directory;  // of the checkpoint
  int64_t step = 0;
  std::string run_file;  // of the leg that wrote the checkpoint
};

// The run file of the leg that wrote the checkpoint.
std::string RunFileOfLeg(const v1::Run& run, int leg) {
  for (const v1::Leg& one : run.legs()) {
    if (one.number() == leg) return one.resolved();
  }
  return run.resolved();
}

StatusOr<Origin> FindOrigin(const std::string& text, Session& session) {
  ASSIGN_OR_RETURN(const CheckpointReference reference,
                   ParseCheckpointReference(text, session.console().working_directory));
  if (reference.run.empty()) {
    return InvalidArgument(
        "{} is a directory, and no run file belongs to it; write init_from: {} into a run file",
        text, reference.directory);
  }
  Origin origin;
  ASSIGN_OR_RETURN(origin.run, FindRun(reference, session));
  ASSIGN_OR_RETURN(const v1::Checkpoint checkpoint, FindCheckpoint(reference, session));
  origin.directory = checkpoint.directory();
  origin.step = checkpoint.step();
  origin.run_file = RunFileOfLeg(origin.run, checkpoint.leg());
  return origin;
}

bool ChangesData(const std::vector<std::string>& overrides) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [](const std::string& one) { return one.starts_with("data."); });
}

// The user's own overrides come last, so that they win.
std::vector<std::string> AssignmentsOf(const ForkOptions& options, const Origin& origin) {
  const bool fresh_data = options.reset_data || ChangesData(options.overrides);
  std::vector<std::string> assignments = {
      "init_from=" + origin.directory,
      std::string("init_optimizer=") + (options.reset_optimizer ? "fresh" : "keep"),
      std::string("init_data=") + (fresh_data ? "start" : "continue"),
      fmt::format("name={}-fork", origin.run.name())};
  assignments.insert(assignments.end(), options.overrides.begin(), options.overrides.end());
  return assignments;
}

// Says what the fork takes from the checkpoint, and what its schedule means, before it starts.
void Explain(const ForkOptions& options, const Origin& origin, const runspec::RunSpec& spec,
             Console& console) {
  const bool keeps_optimizer = spec.init_optimizer == runspec::InitOptimizer::kKeep;
  const bool continues_data = spec.init_data == runspec::InitData::kContinue;
  console.err << fmt::format("From {}@{}: its weights, {}, {}\n", origin.run.name(), origin.step,
                             keeps_optimizer ? "its optimizer state" : "a fresh optimizer",
                             continues_data ? "its place in the data" : "the data from the start");
  if (!options.reset_data && ChangesData(options.overrides)) {
    console.err << "note: the data begins at its start, because --set changes data.*\n";
  }
  const auto before = runspec::LoadRunFile(origin.run_file, "run file");
  if (!before.spec) return;
  auto differences = runspec::DifferingKeys(*before.spec, spec);
  std::erase_if(differences, [](const auto& one) { return one.key.starts_with("init_"); });
  if (!differences.empty()) {
    console.err << "Changed: " << DifferencesText(differences) << "\n";
  }
  const int64_t step = spec.ContinuesCheckpoint() ? origin.step : 0;
  console.err << ScheduleText(spec, step) << "\n";
  const double was = LearningRateAt(*before.spec, origin.step);
  const double is = LearningRateAt(spec, step);
  if (was > 0 && is > 0 && was != is) {
    console.err << fmt::format("note: the learning rate was {:.3g} at step {} of {}\n", was,
                               origin.step, origin.run.name());
  }
}

StatusOr<ExitCode> Fork(const ForkOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const Origin origin, FindOrigin(options.reference, session));
  const RunFileText file{origin.run_file, fmt::format("run file of {}", origin.run.name()), ""};
  SubmitOptions submit{.overrides = AssignmentsOf(options, origin),
                       .name = options.name,
                       .request_id = options.request_id,
                       .dry_run = options.dry_run};
  const auto checked = CheckRunFileOf(file, options.name, submit.overrides, session);
  if (!checked.spec) return ProblemsStatus(checked);
  if (!session.json()) Explain(options, origin, *checked.spec, session.console());
  ASSIGN_OR_RETURN(const v1::SubmitResponse response, SubmitRunFile(file, submit, session));
  if (options.dry_run) {
    session.console().err << "Nothing was submitted (--dry-run).\n";
    return ExitCode::kOk;
  }
  PrintSubmitted(response, session);
  if (options.wait) {
    return FollowRun(response.run(), WatchOptions{.last_document_only = true}, session);
  }
  if (!session.json()) {
    session.console().err << fmt::format("Watch it: {}\n",
                                         session.Hint("watch " + response.run().name()));
  }
  return ExitCode::kOk;
}

}  // namespace

void AddForkCommand(CommandSet& commands) {
  const Command command = commands.Add(
      "fork", kRunGroup, "Make a new run from a checkpoint of a run, with some settings changed");
  auto options = std::make_shared<ForkOptions>();
  command.Option("REF", options->reference, "RUN, RUN@STEP, RUN@best or RUN@latest").Required();
  command.Option("--set", options->overrides, "path=value to change; may be repeated")
      .OneValueEach();
  command.Option("--name", options->name, "name of the new run (default: RUN-fork)").NotEmpty();
  command.Switch("--reset-optimizer", options->reset_optimizer,
                 "begin with a fresh optimizer instead of the checkpoint's moments");
  command.Switch("--reset-data", options->reset_data,
                 "begin with the first batch instead of the one after the checkpoint's");
  command.Option("--request-id", options->request_id,
                 "a repeated fork with the same id gives the same run");
  command.Switch("--dry-run", options->dry_run, "explain and check, submit nothing");
  command.Switch("--wait", options->wait,
                 "stay until it ends; exit code 7 when it failed, 8 when cancelled");
  commands.Bind(command, [options](Session& session) { return Fork(*options, session); });
}

}  // namespace gp::gpctl
