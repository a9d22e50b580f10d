// gpctl logs, events, metrics: streams of one run, as text or NDJSON.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "base/text/counted_noun.h"
#include "client/api/run_state_name.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/detach.h"
#include "client/gpctl/render/metrics_csv.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/render/run_text.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/session/age.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

struct StreamOptions {
  std::string run;
  bool follow = false;
  int tail = 0;
  std::string since;
  std::string rank = "all";
  int64_t after_step = -1;
  std::string format = "text";  // of metrics
};

// The command's result when a stream has ended with `status`. Ctrl-C while following (-f) only
// detaches from the run.
StatusOr<ExitCode> Finish(const Status& status, const v1::Run& run, const StreamOptions& options,
                          const std::string& command, Session& session) {
  if (status.code() == StatusCode::kCancelled && session.console().interruption.requested() &&
      options.follow) {
    return SayDetached(run.name(), fmt::format("{} {} -f", command, run.name()), session);
  }
  RETURN_IF_ERROR(status);
  return ExitCode::kOk;
}

// A consumer that prints each message. It stops the stream when the output cannot be written, for
// example because the other end of a pipe is closed.
template <typename Message, typename Render>
client::RunClient::Consumer<Message> Printer(Session& session, bool follow, Render render) {
  std::ostream& out = session.console().out;
  return [&out, follow, render](const Message& message) {
    out << render(message);
    if (follow) out.flush();
    return out.good();
  };
}

StatusOr<int> RankNumber(const std::string& text) {
  if (text == "all") return -1;
  try {
    size_t used = 0;
    const int rank = std::stoi(text, &used);
    if (used == text.size() && rank >= 0) return rank;
  } catch (const std::logic_error&) {
    // Not a number; reported below.
  }
  return InvalidArgument("--rank {}: expected a rank such as 0, or all", text);
}

std::string NoLinesText(int rank, const StreamOptions& options, const v1::Run& run) {
  return fmt::format("{} has no log lines{}{}; the run is {}.\n", run.name(),
                     rank < 0 ? "" : fmt::format(" of rank {}", rank),
                     options.since.empty() ? "" : fmt::format(" of the last {}", options.since),
                     client::StateName(run.state()));
}

StatusOr<ExitCode> Logs(const StreamOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const int rank, RankNumber(options.rank));
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(options.run));
  if (rank >= std::max(run.workers(), 1)) {
    return InvalidArgument("--rank {}: {} has {}, counted from 0", rank, run.name(),
                           CountedNoun(run.workers(), "rank"));
  }
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  v1::LogsRequest request;
  request.set_run(run.run_id());
  request.set_follow(options.follow);
  request.set_tail(options.tail);
  request.set_rank(rank);
  double since = 0;
  if (!options.since.empty()) {
    ASSIGN_OR_RETURN(since, TimeAgo(options.since, session));
  }
  const bool with_rank = rank < 0 && run.workers() > 1;
  bool empty = true;
  const auto render = [&session, &empty, with_rank, since](const v1::LogLine& line) {
    if (Seconds(line.at()) < since) return std::string();
    empty = false;
    return session.json() ? OneLine(LogLineFields(line))
                          : LogLineText(line, with_rank, session.style()) + "\n";
  };
  const Status status =
      client->Logs(request, Printer<v1::LogLine>(session, options.follow, render));
  if (status.ok() && empty) session.console().err << NoLinesText(rank, options, run);
  return Finish(status, run, options, "logs", session);
}

StatusOr<ExitCode> Events(const StreamOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(options.run));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  v1::EventsRequest request;
  request.set_run(run.run_id());
  request.set_follow(options.follow);
  const Status status = client->Events(
      request,
      Printer<v1::RunEvent>(session, options.follow, [&session](const v1::RunEvent& event) {
        return session.json() ? OneLine(EventFields(event))
                              : EventText(event, session.style()) + "\n";
      }));
  return Finish(status, run, options, "events", session);
}

std::string NoStepsText(const v1::Run& run, const StreamOptions& options) {
  if (options.after_step < 0) {
    return fmt::format("{} has no steps yet; the run is {}.\n", run.name(),
                       client::StateName(run.state()));
  }
  return fmt::format("{} has no steps after step {}; its newest is step {}.\n", run.name(),
                     options.after_step, run.progress().step());
}

// Points as CSV. A score that has no column is named once on stderr.
class CsvPoints {
 public:
  CsvPoints(const v1::Run& run, Console& console)
      : name_(run.name()), columns_(ScoreColumns(run)), console_(console) {}

  std::string Titles() const { return MetricsCsvTitles(columns_); }

  std::string Line(const v1::MetricPoint& point) {
    for (const v1::Score& score : point.scores()) {
      if (std::find(columns_.begin(), columns_.end(), score.name()) != columns_.end()) continue;
      if (named_.insert(score.name()).second) Name(score.name(), point.step());
    }
    return MetricsCsvLine(point, columns_);
  }

 private:
  void Name(const std::string& score, int64_t step) {
    console_.Warn({fmt::format(
        "step {} has the score {}, for which these lines have no column; a new 'gpctl metrics {} "
        "--format csv' has one, and --format json has every score",
        step, OneSafeLine(score, true), name_)});
  }

  const std::string name_;
  const std::vector<std::string> columns_;
  Console& console_;
  std::set<std::string> named_;
};

StatusOr<ExitCode> Metrics(const StreamOptions& options, Session& session) {
  if (session.json() && options.format == "csv") {
    return InvalidArgument("-o json and --format csv: expected one of them");
  }
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(options.run));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  v1::MetricsRequest request;
  request.set_run(run.run_id());
  request.set_after_step(options.after_step);
  request.set_follow(options.follow);
  const int64_t target = run.progress().target_steps();
  const bool csv = options.format == "csv";
  const bool json = session.json() || options.format == "json";
  CsvPoints points(run, session.console());
  if (csv) session.console().out << points.Titles();
  bool empty = true;
  const auto render = [&, target](const v1::MetricPoint& point) {
    empty = false;
    if (csv) return points.Line(point);
    return json ? OneLine(MetricFields(point)) : StepLine(point, target, session.style()) + "\n";
  };
  const Status status =
      client->Metrics(request, Printer<v1::MetricPoint>(session, options.follow, render));
  if (status.ok() && empty) session.console().err << NoStepsText(run, options);
  return Finish(status, run, options, "metrics", session);
}

using StreamAction = StatusOr<ExitCode> (*)(const StreamOptions&, Session&);

Command AddStream(CommandSet& commands, const std::string& name, const std::string& summary,
                  StreamAction run, const std::shared_ptr<StreamOptions>& options) {
  const Command command = commands.Add(name, kRunGroup, summary);
  command.Option("RUN", options->run, "name, id, unique prefix of an id, or @last").Required();
  command.Switch("-f,--follow", options->follow, "keep printing until the run ends");
  commands.Bind(command, [options, run](Session& session) { return run(*options, session); });
  return command;
}

}  // namespace

void AddStreamCommands(CommandSet& commands) {
  auto logs = std::make_shared<StreamOptions>();
  Command command =
      AddStream(commands, "logs", "Print what the trainers of a run wrote", &Logs, logs);
  command.Option("--tail", logs->tail, "only the last N lines").Between(1, 1000000);
  command.Option("--since", logs->since,
                 "only lines written at most this long ago, such as 90s, 10m or 2d; of --tail's "
                 "lines, if both are given");
  command.Option("--rank", logs->rank, "only this rank, or all");
  AddStream(commands, "events", "Print the history of a run: each change of state with its reason",
            &Events, std::make_shared<StreamOptions>());
  auto metrics = std::make_shared<StreamOptions>();
  Command metrics_command =
      AddStream(commands, "metrics", "Print loss, speed and more of each step, also as CSV or JSON",
                &Metrics, metrics);
  metrics_command.Option("--after-step", metrics->after_step, "only later steps");
  metrics_command
      .Option("--format", metrics->format,
              "text; csv with a line of titles; json: one object per line, as -o json (text)")
      .OneOf({"text", "csv", "json"});
}

}  // namespace gp::gpctl
