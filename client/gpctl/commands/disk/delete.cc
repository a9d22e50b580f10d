// gpctl delete.
#include <algorithm>
#include <memory>
#include <set>

#include "base/text/counted_noun.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/terminal/confirmation.h"
#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

struct DeleteOptions {
  std::vector<std::string> runs;
  bool keep_checkpoints = false;
  bool dry_run = false;
  bool yes = false;
};

using Planned = std::vector<v1::DeleteRunResponse>;

// What the deletion of one run would remove. The coordinator also finds a deleted run whose
// checkpoints were kept.
StatusOr<v1::DeleteRunResponse> PlanOne(const std::string& reference, const DeleteOptions& options,
                                        Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  v1::DeleteRunRequest request;
  request.set_run(session.WithNamespace(reference));
  request.set_keep_checkpoints(options.keep_checkpoints);
  request.set_dry_run(true);
  const auto planned = client->DeleteRun(request);
  if (planned.ok()) return planned;
  const auto found = session.FindRun(reference);  // its error says which names are near
  return found.ok() ? planned.status() : found.status();
}

// The first child that would lose its base; empty when there is none.
std::string ChildLeft(const v1::DeleteRunResponse& run, const std::set<std::string>& deleted) {
  for (const auto& [id, name] : run.children()) {
    if (!deleted.contains(id)) return name;
  }
  return "";
}

Status CheckChildren(const Planned& planned) {
  std::set<std::string> ids;
  for (const v1::DeleteRunResponse& run : planned) ids.insert(run.run_id());
  for (const v1::DeleteRunResponse& run : planned) {
    const std::string child = ChildLeft(run, ids);
    if (child.empty()) continue;
    return FailedPrecondition(
        "run {} began from a checkpoint of {}, which it still needs; delete both, or keep the "
        "checkpoints with --keep-checkpoints. Nothing was deleted",
        child, run.run_name());
  }
  return OkStatus();
}

// Puts every run after the runs that began from it.
Planned ChildrenFirst(Planned planned) {
  Planned ordered;
  std::set<std::string> waiting;
  for (const v1::DeleteRunResponse& run : planned) waiting.insert(run.run_id());
  while (!planned.empty()) {
    const auto ready = std::find_if(planned.begin(), planned.end(), [&](const auto& run) {
      return std::none_of(run.children().begin(), run.children().end(),
                          [&](const auto& child) { return waiting.contains(child.first); });
    });
    const auto next = ready == planned.end() ? planned.begin() : ready;
    waiting.erase(next->run_id());
    ordered.push_back(std::move(*next));
    planned.erase(next);
  }
  return ordered;
}

// Checks every run before the first one is deleted.
StatusOr<Planned> Plan(const DeleteOptions& options, Session& session) {
  Planned planned;
  std::set<std::string> ids;
  Status first_error;
  for (const std::string& reference : options.runs) {
    auto one = PlanOne(reference, options, session);
    if (!one.ok()) {
      if (!first_error.ok()) session.console().err << "error: " << Message(one.status()) << "\n";
      if (first_error.ok()) first_error = one.status();
      continue;
    }
    if (ids.insert(one->run_id()).second) planned.push_back(*std::move(one));
  }
  RETURN_IF_ERROR(first_error);
  if (!options.keep_checkpoints) RETURN_IF_ERROR(CheckChildren(planned));
  return ChildrenFirst(std::move(planned));
}

std::string Line(const v1::DeleteRunResponse& run, const DeleteOptions& options,
                 const std::string& what) {
  std::string text =
      fmt::format("{} ({}): {} {}, {}{}", run.run_name(), run.run_id(), Bytes(run.freed_bytes()),
                  what, CountedNoun(run.checkpoints(), "checkpoint"),
                  options.keep_checkpoints && run.checkpoints() > 0 ? " kept" : "");
  std::string children;
  for (const auto& [id, name] : run.children()) children += (children.empty() ? "" : ", ") + name;
  return children.empty() ? text + "\n" : text + "; base of " + children + "\n";
}

void Print(const v1::DeleteRunResponse& run, const DeleteOptions& options, Session& session) {
  if (!session.json()) {
    session.console().PrintChange(Line(run, options, options.dry_run ? "to be freed" : "freed"));
    return;
  }
  Json fields = {
      {"run_id", run.run_id()},           {"name", run.run_name()},
      {"deleted", !options.dry_run},      {"freed_bytes", run.freed_bytes()},
      {"checkpoints", run.checkpoints()}, {"checkpoints_kept", options.keep_checkpoints}};
  session.console().PrintChange(OneLine(With("DeletedRun", fields)));
}

uint64_t TotalOf(const Planned& planned) {
  uint64_t bytes = 0;
  for (const v1::DeleteRunResponse& run : planned) bytes += run.freed_bytes();
  return bytes;
}

StatusOr<bool> Agreed(const Planned& planned, const DeleteOptions& options, Session& session) {
  const Console& console = session.console();
  if (options.yes) return true;
  if (!console.in_is_terminal) return false;
  for (const v1::DeleteRunResponse& run : planned) {
    console.err << "  " << Line(run, options, "to be freed");
  }
  return Confirmed(fmt::format("Delete {} for good and free {}?",
                               CountedNoun(static_cast<int64_t>(planned.size()), "run"),
                               Bytes(TotalOf(planned))),
                   console);
}

StatusOr<ExitCode> Delete(const DeleteOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const Planned planned, Plan(options, session));
  if (options.dry_run) {
    for (const v1::DeleteRunResponse& run : planned) Print(run, options, session);
    return ExitCode::kOk;
  }
  ASSIGN_OR_RETURN(const bool agreed, Agreed(planned, options, session));
  if (!agreed) return FailedPrecondition("nothing was deleted; a deletion needs a 'y' or --yes");
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  for (const v1::DeleteRunResponse& run : planned) {
    v1::DeleteRunRequest request;
    request.set_run(run.run_id());
    request.set_keep_checkpoints(options.keep_checkpoints);
    ASSIGN_OR_RETURN(const v1::DeleteRunResponse deleted, client->DeleteRun(request));
    Print(deleted, options, session);
  }
  if (planned.size() > 1 && !session.json()) {
    session.console().err << fmt::format("{} freed in all\n", Bytes(TotalOf(planned)));
  }
  return ExitCode::kOk;
}

}  // namespace

void AddDeleteCommand(CommandSet& commands) {
  const Command command = commands.Add(
      "delete", kRunGroup, "Delete ended runs for good: their checkpoints, samples and records");
  auto options = std::make_shared<DeleteOptions>();
  command.Option("RUN", options->runs, "names, ids, unique prefixes of ids, or @last").Required();
  command.Switch("-y,--yes", options->yes, "do not ask");
  command.Switch("--keep-checkpoints", options->keep_checkpoints,
                 "leave the directories of its checkpoints, for runs that began from them");
  command.Switch("--dry-run", options->dry_run, "only show what would be freed");
  commands.Bind(command, [options](Session& session) { return Delete(*options, session); });
}

}  // namespace gp::gpctl
