#include "client/gpctl/commands/legs/another_leg.h"

#include <algorithm>

#include "client/api/run_state_name.h"
#include "client/gpctl/commands/watch.h"
#include "client/gpctl/render/leg_text.h"
#include "client/gpctl/render/run_json.h"
#include "runspec/run_file.h"

namespace gp::gpctl {
namespace {

// The resolved run file of the leg that was asked for; it may not have begun.
std::string RunFileOf(const v1::Run& run) {
  return run.resolved().empty() && run.legs_size() > 0 ? run.legs(run.legs_size() - 1).resolved()
                                                       : run.resolved();
}

std::string GoesOnText(const v1::Run& run, int64_t first_step, bool dry_run) {
  const int64_t target = run.progress().target_steps();
  const std::string until = target > 0 ? fmt::format(" to step {}", target) : std::string();
  const std::string verb = dry_run ? "would continue" : "continues";
  std::string text = fmt::format("{} ({}) {} from {}{}", run.name(), run.run_id(), verb,
                                 PlaceText(first_step), until);
  if (!run.leaving_for().empty()) return text + " as soon as its ranks have saved and left\n";
  return text + fmt::format(": {}\n", run.reason());
}

// The run as it is now, which may be past the leg that the call began.
std::string DoneBeforeText(const v1::Run& run) {
  return fmt::format("Done before: {} ({}): {}\n", run.name(), run.run_id(), run.reason());
}

void PrintLeg(const v1::ContinueRequest& request, const v1::Run& run, Console& console) {
  const int64_t from = request.has_from_step() ? request.from_step() : run.latest_checkpoint_step();
  const auto file = runspec::LoadRunFile(RunFileOf(run), "run file");
  const runspec::TrainingStart start =
      file.spec ? StartOf(run, *file.spec) : runspec::TrainingStart();
  const int64_t first_step = std::max(from, start.step);
  console.PrintChange(GoesOnText(run, first_step, request.dry_run()));
  if (file.spec) console.err << ScheduleText(*file.spec, first_step, start) << "\n";
}

}  // namespace

StatusOr<ExitCode> BeginLeg(v1::ContinueRequest request, const v1::Run& before, bool wait,
                            Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(v1::ContinueResponse response, client->Continue(request));
  session.console().Warn({response.warnings().begin(), response.warnings().end()});
  if (response.run().legs_size() == 0) {
    ASSIGN_OR_RETURN(*response.mutable_run(), client->Get(response.run().run_id()));
  }
  const bool follow = wait && !request.dry_run();
  if (!session.json() && response.replayed()) {
    session.console().PrintChange(DoneBeforeText(response.run()));
  } else if (!session.json()) {
    PrintLeg(request, response.run(), session.console());
  } else if (!follow) {
    Json document = With("Run", RunFields(response.run()));
    document["replayed"] = response.replayed();
    session.console().PrintChange(Pretty(document));
  }
  if (follow) {
    return FollowRun(response.run(), {.last_document_only = true, .after_epoch = before.epoch()},
                     session);
  }
  if (session.json()) return ExitCode::kOk;
  if (request.dry_run()) {
    session.console().err << "Nothing was changed (--dry-run).\n";
  } else {
    session.console().err << fmt::format("Watch it: {}\n",
                                         session.Hint("watch " + response.run().name()));
  }
  return ExitCode::kOk;
}

}  // namespace gp::gpctl
