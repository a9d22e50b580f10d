// gpctl extend, restart, retry.
#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>

#include "client/api/run_state_name.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/legs/amount.h"
#include "client/gpctl/commands/legs/another_leg.h"
#include "client/gpctl/session/setting_file.h"

namespace gp::gpctl {
namespace {

struct LegOptions {
  std::string run;
  std::string steps;   // "500" or "+200"
  std::string tokens;  // "1000000" or "+200000"
  std::string from;
  std::vector<std::string> overrides;
  std::vector<std::string> set_files;
  std::string request_id;
  bool wait = false;
  bool dry_run = false;
};

Status SetBudget(const LegOptions& options, v1::ContinueRequest& request) {
  if (options.steps.empty() == options.tokens.empty()) {
    return InvalidArgument(
        "say how long to train: --steps 500 (the total), --steps +200, or "
        "--tokens likewise");
  }
  const bool steps = !options.steps.empty();
  ASSIGN_OR_RETURN(const Amount amount, steps ? ParseAmount("--steps", options.steps)
                                              : ParseAmount("--tokens", options.tokens));
  if (steps) {
    amount.more ? request.set_more_steps(amount.value) : request.set_steps(amount.value);
  } else {
    amount.more ? request.set_more_tokens(amount.value) : request.set_tokens(amount.value);
  }
  return OkStatus();
}

v1::ContinueRequest RequestOf(const LegOptions& options, const v1::Run& run,
                              const Settings& settings) {
  v1::ContinueRequest request;
  request.set_run(run.run_id());
  request.set_request_id(options.request_id);
  request.set_dry_run(options.dry_run);
  for (const std::string& one : settings.values) request.add_overrides(one);
  return request;
}

// Fills in what a command adds to a request.
using Completion = std::function<Status(v1::ContinueRequest&)>;

StatusOr<ExitCode> Begin(const LegOptions& options, const v1::Run& run, const Completion& complete,
                         Session& session) {
  ASSIGN_OR_RETURN(const Settings settings,
                   SettingsOf(options.set_files, options.overrides, session.console()));
  v1::ContinueRequest request = RequestOf(options, run, settings);
  RETURN_IF_ERROR(complete(request));
  const StatusOr<ExitCode> begun = BeginLeg(std::move(request), run, options.wait, session);
  if (!begun.ok()) return NamingFiles(begun.status(), settings);
  return begun;
}

StatusOr<ExitCode> Extend(const LegOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(options.run));
  return Begin(
      options, run, [&](v1::ContinueRequest& request) { return SetBudget(options, request); },
      session);
}

// The step that --from names: a number, or "start" for -1.
StatusOr<int64_t> ParseFrom(const std::string& text) {
  if (text == "start") return -1;
  int64_t step = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, step);
  if (error == std::errc() && rest == end && step >= 0) return step == 0 ? -1 : step;
  return InvalidArgument("--from {}: expected the step of a checkpoint, or start", text);
}

Status SetFrom(const LegOptions& options, const v1::Run& run, v1::ContinueRequest& request) {
  if (options.from.empty()) {
    // The call that began a leg is repeated as it was; that leg may have newer checkpoints.
    const auto repeated =
        std::find_if(run.legs().begin(), run.legs().end(), [&](const v1::Leg& leg) {
          return !options.request_id.empty() && leg.request_id() == options.request_id;
        });
    if (repeated != run.legs().end()) {
      request.set_from_step(repeated->first_step());
      return OkStatus();
    }
    request.set_from_step(run.latest_checkpoint_step() > 0 ? run.latest_checkpoint_step() : -1);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const int64_t step, ParseFrom(options.from));
  request.set_from_step(step);
  return OkStatus();
}

StatusOr<ExitCode> Restart(const LegOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(options.run));
  return Begin(
      options, run, [&](v1::ContinueRequest& request) { return SetFrom(options, run, request); },
      session);
}

StatusOr<ExitCode> Retry(const LegOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(options.run));
  if (run.state() != v1::RUN_STATE_FAILED) {
    return FailedPrecondition("run {} is {}; only a failed run can be retried: {}", run.name(),
                              client::StateName(run.state()), session.Hint("resume " + run.name()));
  }
  return Begin(
      options, run, [](v1::ContinueRequest&) { return OkStatus(); }, session);
}

void AddCommonFlags(const Command& command, LegOptions& options) {
  command.Option("RUN", options.run, kRunArgument).Required();
  command
      .Option("--set", options.overrides,
              "path=value for keys that do not change what was trained: schedule, eval, sample, "
              "checkpoint, retries, resources; may be repeated")
      .OneValueEach();
  command
      .Option("--set-file", options.set_files,
              "file with a line path=value for each setting; --set wins over it; may be repeated")
      .Path()
      .OneValueEach();
  command.Option("--request-id", options.request_id,
                 "repeating the call with the same id changes nothing");
  command.Switch("--wait", options.wait, kWaitForEnd);
  command.Switch("--dry-run", options.dry_run, "show what would happen, change nothing");
}

}  // namespace

void AddContinueCommands(CommandSet& commands) {
  const Command extend =
      commands.Add("extend", kRunGroup,
                   "Train a run for more steps, also after it has ended; its schedule stays");
  auto options = std::make_shared<LegOptions>();
  AddCommonFlags(extend, *options);
  extend.Option("--steps", options->steps, "the run's total steps, or +N to add N steps");
  extend.Option("--tokens", options->tokens, "the run's total tokens, or +N to add N tokens");
  commands.Bind(extend, [options](Session& session) { return Extend(*options, session); });

  const Command restart =
      commands.Add("restart", kRunGroup, "Train a run again from one of its checkpoints");
  auto restarted = std::make_shared<LegOptions>();
  AddCommonFlags(restart, *restarted);
  restart.Option("--from", restarted->from,
                 "step of the checkpoint, or start (default: the newest checkpoint)");
  commands.Bind(restart, [restarted](Session& session) { return Restart(*restarted, session); });

  const Command retry =
      commands.Add("retry", kRunGroup, "Try a failed run again, from its newest checkpoint");
  auto retried = std::make_shared<LegOptions>();
  AddCommonFlags(retry, *retried);
  commands.Bind(retry, [retried](Session& session) { return Retry(*retried, session); });
}

}  // namespace gp::gpctl
