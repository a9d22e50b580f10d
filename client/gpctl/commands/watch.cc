// gpctl watch.
#include "client/gpctl/commands/watch.h"

#include <algorithm>
#include <memory>

#include "base/duration.h"
#include "client/api/run_state_name.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/detach.h"
#include "client/gpctl/commands/top.h"
#include "client/gpctl/commands/watch_screen.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/render/run_screen.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/session/run_feed.h"
#include "client/gpctl/terminal/live_screen.h"

namespace gp::gpctl {
namespace {

constexpr std::chrono::seconds kScreenDrain{2};
constexpr std::chrono::milliseconds kIntervalMin{50};

StatusOr<std::chrono::nanoseconds> Interval(const WatchOptions& options, bool animated) {
  if (options.interval.empty())
    return std::chrono::nanoseconds(animated ? std::chrono::seconds(1) : std::chrono::seconds(5));
  ASSIGN_OR_RETURN(const auto interval, ParseDuration(options.interval));
  return std::max<std::chrono::nanoseconds>(interval, kIntervalMin);
}

// Plain output: a line when the state changes, one for each evaluation, and one for the newest step
// of each interval.
class LinePrinter {
 public:
  LinePrinter(std::ostream& out, const TextStyle& style, std::optional<uint64_t> after_epoch)
      : out_(out), style_(style), after_epoch_(after_epoch) {}

  void Print(const RunModel& model) {
    const v1::Run& run = model.run();
    if (run.state() != state_) {
      out_ << fmt::format("{} {}: {}\n", run.name(), client::StateName(run.state()), run.reason());
      state_ = run.state();
    }
    PrintSteps(model);
    if (run.progress().warning() != warning_) {
      warning_ = run.progress().warning();
      out_ << "! " << warning_ << "\n";
    }
    if (model.notice() != notice_) {
      notice_ = model.notice();
      if (!notice_.empty()) out_ << notice_ << "\n";
    }
    out_.flush();
  }

 private:
  void PrintSteps(const RunModel& model) {
    if (model.points().empty()) return;
    const int64_t newest = model.points().back().step();
    if (newest < step_) step_ = newest - 1;  // the run restarted from an earlier step
    for (const v1::MetricPoint& point : model.points()) {
      const bool wanted = point.has_validation_loss() || point.step() == newest;
      const bool before = after_epoch_ && point.epoch() <= *after_epoch_;
      if (point.step() <= step_ || !wanted || before) continue;
      out_ << StepLine(point, model.run().progress().target_steps(), style_) << "\n";
    }
    step_ = newest;
  }

  std::ostream& out_;
  const TextStyle style_;
  const std::optional<uint64_t> after_epoch_;
  v1::RunState state_ = v1::RUN_STATE_UNSPECIFIED;
  int64_t step_ = -1;
  std::string warning_;
  std::string notice_;
};

// Calls `show` after each interval and once more at the end. Returns early when `out` cannot be
// written.
template <typename Show>
Status ShowUntilEnd(RunFeed& feed, std::chrono::nanoseconds interval, const std::ostream& out,
                    Show show) {
  while (true) {
    show(feed.Model());
    if (!out.good()) return OkStatus();
    ASSIGN_OR_RETURN(const bool ended, feed.WaitForEnd(interval));
    if (ended) break;
  }
  feed.Drain(kScreenDrain);
  show(feed.Model());
  return OkStatus();
}

Status FollowAsLines(RunFeed& feed, std::chrono::nanoseconds interval,
                     std::optional<uint64_t> after_epoch, Session& session) {
  std::ostream& out = session.console().out;
  LinePrinter printer(out, session.style(), after_epoch);
  return ShowUntilEnd(feed, interval, out, [&](const RunModel& model) { printer.Print(model); });
}

// When the run has ended, its last numbers stay on the terminal.
StatusOr<WatchEnd> FollowOnScreen(RunFeed& feed, std::chrono::nanoseconds interval,
                                  Session& session) {
  ASSIGN_OR_RETURN(const WatchEnd end, WatchScreen(feed, session).Follow(interval));
  if (end == WatchEnd::kUserLeft) return end;
  feed.Drain(kScreenDrain);
  session.console().out << RunScreen(feed.Model(), session.Now(), session.style()) << std::flush;
  return end;
}

// Prints the run as a line of JSON after every change; with last_document_only, only once at the
// end.
Status FollowAsJson(const v1::Run& run, v1::Run& last, const WatchOptions& options,
                    Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  std::ostream& out = session.console().out;
  RETURN_IF_ERROR(client->Watch(run.run_id(), [&](const v1::Run& now) {
    last = now;
    if (!options.last_document_only) out << OneLine(With("Run", RunFields(now))) << std::flush;
    return out.good();
  }));
  if (options.last_document_only) out << Pretty(With("Run", RunFields(last)));
  return OkStatus();
}

}  // namespace

StatusOr<ExitCode> FollowRun(const v1::Run& run, const WatchOptions& options, Session& session) {
  v1::Run last = run;
  Status status;
  bool left = false;
  if (session.json()) {
    status = FollowAsJson(run, last, options, session);
  } else {
    const bool live = LiveScreen::IsAvailable(session.console()) && !options.plain;
    ASSIGN_OR_RETURN(const auto interval, Interval(options, live));
    ASSIGN_OR_RETURN(const auto feed,
                     RunFeed::Open(run, {.events = live, .log_tail = live}, session));
    if (live) {
      const StatusOr<WatchEnd> end = FollowOnScreen(*feed, interval, session);
      status = end.status();
      left = end.ok() && *end == WatchEnd::kUserLeft;
    } else {
      status = FollowAsLines(*feed, interval, options.after_epoch, session);
    }
    last = feed->Model().run();
  }
  const bool interrupted =
      status.code() == StatusCode::kCancelled && session.console().interruption.requested();
  if (left || interrupted) return SayDetached(run.name(), "watch " + run.name(), session);
  RETURN_IF_ERROR(status);
  return ExitCodeOf(last.state());
}

void AddWatchCommand(CommandSet& commands) {
  const Command command = commands.Add(
      "watch", kRunGroup, "Follow a run live: curves, speed, ETA, events; ? shows the keys");
  auto options = std::make_shared<WatchOptions>();
  command.Option(
      "RUN", options->run,
      "name, id, unique prefix of an id, or @last; without it: the fleet, as 'gpctl top'");
  command.Switch("--plain", options->plain, "lines instead of a live screen");
  command.Option("--interval", options->interval, "time between redraws (1s) or lines (5s)");
  commands.Bind(command, [options](Session& session) -> StatusOr<ExitCode> {
    if (options->run.empty()) {
      return ShowFleet({.once = options->plain, .interval = options->interval}, session);
    }
    ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(options->run));
    return FollowRun(run, *options, session);
  });
}

}  // namespace gp::gpctl
