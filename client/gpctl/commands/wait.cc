// gpctl wait.
#include <memory>
#include <thread>

#include "base/duration.h"
#include "client/api/run_state_name.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/detach.h"
#include "client/gpctl/commands/wait_condition.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

struct WaitOptions {
  std::string run;
  std::string condition = "finished";
  std::string longest;
};

// Requests `target` when `longest` has passed (0: never) or the user interrupts, whichever comes
// first.
class Deadline {
 public:
  Deadline(std::chrono::nanoseconds longest, client::Interruption& user,
           client::Interruption& target)
      : forward_(user.OnRequest([&target] { target.Request(); })), timer_([this, longest, &target] {
          if (longest.count() > 0 && !done_.WaitFor(longest)) target.Request();
        }) {}
  ~Deadline() {
    done_.Request();
    timer_.join();
  }

 private:
  client::Interruption::Scope forward_;
  client::Interruption done_;
  std::thread timer_;
};

ExitCode EndOfRun(const v1::Run& run, bool met) {
  if (run.state() == v1::RUN_STATE_SUCCEEDED) return met ? ExitCode::kOk : ExitCode::kFailure;
  return ExitCodeOf(run.state());
}

// Where the wait ended: "a is running: every rank is ready", or why the condition can no longer be
// met.
std::string OutcomeText(const v1::Run& run, bool met, const std::string& condition) {
  if (met || !client::IsTerminal(run.state())) {
    return fmt::format("{} is {}: {}\n", run.name(), client::StateName(run.state()), run.reason());
  }
  return fmt::format(
      "{} has ended and cannot meet '{}' any more: it {} at step {}: {}\n", run.name(), condition,
      run.state() == v1::RUN_STATE_CANCELLED ? "was cancelled" : client::StateName(run.state()),
      WithThousands(run.progress().step()), run.reason());
}

ExitCode Report(const v1::Run& run, bool met, const WaitOptions& options, bool asked_for_state,
                Session& session) {
  if (session.json()) {
    session.console().out << Pretty(With("Run", RunFields(run)));
  } else {
    session.console().out << OutcomeText(run, met, options.condition);
    if (IsWarned(run)) {
      session.console().out << "warning: "
                            << OneSafeLine(run.progress().warning(), session.style().utf8) << "\n";
    }
  }
  if (met && (asked_for_state || !client::IsTerminal(run.state()))) return ExitCode::kOk;
  return EndOfRun(run, met);
}

StatusOr<ExitCode> Wait(const WaitOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const WaitCondition condition, ParseWaitCondition(options.condition));
  std::chrono::nanoseconds longest{0};
  if (!options.longest.empty()) {
    ASSIGN_OR_RETURN(longest, ParseDuration(options.longest));
  }
  ASSIGN_OR_RETURN(v1::Run run, session.FindRun(options.run));
  client::Interruption stop;
  ASSIGN_OR_RETURN(const auto client,
                   session.NewClient(stop, [&session](const std::string& message) {
                     session.console().err << message << std::endl;
                   }));
  Status status;
  if (!client::IsTerminal(run.state())) {
    const Deadline deadline(longest, session.console().interruption, stop);
    status = client->Watch(run.run_id(), [&](const v1::Run& now) {
      run = now;
      return !condition.MetBy(now) && !client::IsTerminal(now.state());
    });
  }
  if (session.console().interruption.requested()) {
    return SayDetached(run.name(), "wait " + run.name(), session);
  }
  if (stop.requested()) {
    return DeadlineExceeded("{} is {} after {}, still not {}: {}", run.name(),
                            client::StateName(run.state()), FormatDuration(longest),
                            options.condition, run.reason());
  }
  RETURN_IF_ERROR(status);
  return Report(run, condition.MetBy(run), options, condition.kind == WaitCondition::Kind::kState,
                session);
}

}  // namespace

void AddWaitCommand(CommandSet& commands) {
  const Command command =
      commands.Add("wait", kRunGroup, "Wait until a run ends or meets a condition");
  auto options = std::make_shared<WaitOptions>();
  command.Option("RUN", options->run, "name, id, unique prefix of an id, or @last").Required();
  command.Option("--for", options->condition,
                 "finished (default), checkpoint, state=NAME, step=N, loss<X, val_loss<X");
  command.Option("--longest", options->longest,
                 "give up after this time, such as 10m (exit code 6)");
  commands.Bind(command, [options](Session& session) { return Wait(*options, session); });
}

}  // namespace gp::gpctl
