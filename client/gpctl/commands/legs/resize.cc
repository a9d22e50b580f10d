// gpctl resize.
#include <memory>

#include "base/text/counted_noun.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"

namespace gp::gpctl {
namespace {

struct ResizeOptions {
  std::string run;
  int workers = 0;
};

StatusOr<ExitCode> Resize(const ResizeOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run found, session.FindRun(options.run));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const v1::Run run, client->Resize(found.run_id(), options.workers));
  session.console().PrintChange(
      session.json() ? OneLine(With("Run", RunFields(run)))
                     : fmt::format("{} ({}) gets {}; it has {} now\n", run.name(), run.run_id(),
                                   CountedNoun(options.workers, "rank"), run.placement_size()));
  return ExitCode::kOk;
}

}  // namespace

void AddResizeCommand(CommandSet& commands) {
  const Command command =
      commands.Add("resize", kRunGroup, "Change the number of ranks of a run while it trains");
  auto options = std::make_shared<ResizeOptions>();
  command.Option("RUN", options->run, kRunArgument).Required();
  command
      .Option("--workers", options->workers,
              "ranks, within resources.min_workers and max_workers of the run file")
      .Required();
  commands.Bind(command, [options](Session& session) { return Resize(*options, session); });
}

}  // namespace gp::gpctl
