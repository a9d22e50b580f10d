// gpctl demo: shows the whole service on one screen, from an empty machine to text from a
// checkpoint.
#include <filesystem>
#include <memory>
#include <optional>

#include "base/duration.h"
#include "base/file.h"
#include "base/text/shell_word.h"
#include "client/api/run_state_name.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/models/sample.h"
#include "client/gpctl/commands/service/up.h"
#include "client/gpctl/commands/submit.h"
#include "client/gpctl/demo/chaos.h"
#include "client/gpctl/demo/demo_run_file.h"
#include "client/gpctl/demo/demo_text.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/render/run_screen.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/service/local_service.h"
#include "client/gpctl/session/checkpoint_reference.h"
#include "client/gpctl/session/run_feed.h"
#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/hint.h"
#include "client/gpctl/terminal/live_block.h"
#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

constexpr int kWorkers = 2;
constexpr int kSampleCharacters = 1000;
constexpr std::chrono::seconds kNewsDrain{3};
constexpr std::chrono::milliseconds kRefresh{1000};
// With --chaos: so that the next fault is not long after the run has gone on.
constexpr std::chrono::milliseconds kChaosRefresh{250};
constexpr int kLinesPerRun = 24;

struct DemoOptions {
  double minutes = 2;
  std::string text;
  bool chaos = false;

  int workers() const { return chaos ? Chaos::kWorkers : kWorkers; }
};

// The text to train on, and its path for the workers.
struct DemoText {
  std::string source;
  std::string path;
  std::string text;
};

StatusOr<DemoText> PrepareText(const DemoOptions& options, Session& session) {
  const Console& console = session.console();
  std::string wanted = options.text.empty() ? console.Variable("TEXT") : options.text;
  if (wanted.empty()) {
    ASSIGN_OR_RETURN(wanted, FindDemoText(DemoTextPlaces(console.program_directory)));
  }
  DemoText text{.source = AbsolutePath(wanted, console.working_directory)};
  ASSIGN_OR_RETURN(text.text, ReadDemoText(text.source));
  const std::string directory = JoinPath(session.StateDirectory(), "demo");
  RETURN_IF_ERROR(MakeDirectories(directory, 0700));
  text.path = JoinPath(directory, "text.txt");
  RETURN_IF_ERROR(WriteFileAtomically(text.path, text.text, 0600));
  return text;
}

// Finds the service of the state directory, or starts one and stops it at the end.
class DemoService {
 public:
  // `made`: the demo made the state directory, so an interruption removes it.
  DemoService(bool made, int workers, Session& session)
      : session_(session), directory_(session.StateDirectory()), made_(made), workers_(workers) {}
  ~DemoService() {
    const bool interrupted = session_.console().interruption.requested();
    const Status status = made_ && interrupted && !found_ ? Remove() : Stop();
    if (!status.ok()) session_.console().err << "warning: " << Message(status) << "\n";
  }
  DemoService(const DemoService&) = delete;
  DemoService& operator=(const DemoService&) = delete;

  StatusOr<ServiceRecord> Start() {
    RETURN_IF_ERROR(directory_.Create());
    client::Interruption& interruption = session_.console().interruption;
    auto record = FindRunningService(directory_, interruption);
    found_ = record.ok();
    if (record.status().code() != StatusCode::kNotFound) return record;
    record = StartInBackground(directory_,
                               {.program_directory = session_.console().program_directory,
                                .workers = workers_,
                                .gateway = false},
                               interruption);
    started_ = record.ok();
    if (record.status().code() == StatusCode::kAlreadyExists) {
      found_ = true;
      return FindRunningService(directory_, interruption);
    }
    return record;
  }

  // Whether it was there already.
  bool found() const { return found_; }
  const ServiceDirectory& directory() const { return directory_; }

  Status Stop() {
    if (!started_) return OkStatus();
    started_ = false;
    return StopService(directory_).status();
  }

 private:
  // Leaves nothing of an interrupted demo: no process, no files, no context.
  Status Remove() {
    if (!FileExists(directory_.root())) return OkStatus();
    ASSIGN_OR_RETURN(const StoppedService stopped, StopService(directory_, StopWay::kAtOnce));
    RETURN_IF_ERROR(directory_.Remove());
    ForgetContext(directory_, session_);
    session_.console().err << fmt::format("The demo was interrupted; {} was removed.\n",
                                          directory_.root());
    return OkStatus();
  }

  Session& session_;
  const ServiceDirectory directory_;
  const bool made_;
  const int workers_;
  bool found_ = false;
  bool started_ = false;
};

std::string Quoted(const Sample& sample, int width, bool utf8) {
  return CutToWidth(fmt::format("  step {:>6}  \"{}\"", WithThousands(sample.step),
                                OneSafeLine(sample.text, utf8)),
                    width, utf8);
}

// Prints steps, evaluations and samples as they arrive: on a terminal above a live line, otherwise
// as plain lines.
class DemoScreen {
 public:
  DemoScreen(double seconds, Session& session)
      : session_(session),
        block_(session.console().out),
        animated_(session.console().Animated()),
        interval_(seconds / kLinesPerRun) {}

  void Show(const RunModel& model) {
    std::string news;
    ReportState(model.run(), news);
    ReportStep(model, news);
    ReportSamples(model, news);
    if (animated_) {
      if (!news.empty()) block_.PrintAbove(news);
      block_.Draw(ProgressLine(model, session_.Now(), session_.style()) + "\n");
    } else if (!news.empty()) {
      session_.console().out << news << std::flush;
    }
  }

  void Finish() {
    if (animated_) block_.Draw("");
  }

  // A line that stays.
  void Tell(const std::string& line) {
    if (animated_) {
      block_.PrintAbove("  " + line + "\n");
    } else {
      session_.console().out << "  " << line << std::endl;
    }
  }

 private:
  int Width() const { return session_.width() > 0 ? session_.width() : 110; }

  void ReportState(const v1::Run& run, std::string& news) {
    if (run.state() == state_) return;
    state_ = run.state();
    news += CutToWidth(fmt::format("  {}: {}", client::StateName(state_),
                                   OneSafeLine(run.reason(), session_.utf8())),
                       Width(), session_.utf8()) +
            "\n";
  }

  // Adds a line for the first step, for each evaluated step, and for others at intervals, so that
  // all lines together fit on about one screen.
  void ReportStep(const RunModel& model, std::string& news) {
    if (model.points().empty()) return;
    const v1::MetricPoint& point = model.points().back();
    const v1::MetricPoint* validation = model.validation();
    const int64_t target = model.run().progress().target_steps();
    if (validation != nullptr && validation->step() > validation_step_) {
      validation_step_ = validation->step();
      Report(*validation, target, news);
    } else if (point.step() > step_ && session_.Now() >= next_line_) {
      Report(point, target, news);
    }
  }

  void Report(const v1::MetricPoint& point, int64_t target, std::string& news) {
    step_ = point.step();
    next_line_ = session_.Now() + interval_;
    news += "  " + StepLine(point, target, {.width = std::max(0, session_.width() - 2)}) + "\n";
  }

  void ReportSamples(const RunModel& model, std::string& news) {
    for (const Sample& sample : model.samples()) {
      if (sample.step <= sample_step_) continue;
      sample_step_ = sample.step;
      news += Quoted(sample, Width(), session_.utf8()) + "\n";
    }
  }

  Session& session_;
  LiveBlock block_;
  const bool animated_;
  const double interval_;  // seconds between lines
  double next_line_ = 0;   // seconds since 1970
  v1::RunState state_ = v1::RUN_STATE_UNSPECIFIED;
  int64_t step_ = -1;
  int64_t validation_step_ = -1;
  int64_t sample_step_ = -1;
};

// By this machine's clock, which also the workers use.
double WallSeconds(const Session& session) {
  const auto now = session.console().clock.WallNow().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

StatusOr<v1::Run> SubmitDemo(const DemoText& text, const DemoOptions& options, int slots,
                             Session& session) {
  const RunFileText file{kDemoRunFile, "demo.yaml", DirectoryOf(text.path)};
  SubmitOptions submit;
  submit.overrides = {
      "data.text=" + Json(std::vector<std::string>{text.path}).dump(),
      fmt::format("budget.wall_time={}s", std::max(1, static_cast<int>(options.minutes * 60)))};
  const int workers = std::min(slots, options.workers());
  submit.overrides.push_back(fmt::format("resources.workers={}", workers));
  if (options.chaos) {
    // Runs with Muon start again when a rank dies.
    submit.overrides.insert(submit.overrides.end(),
                            {fmt::format("resources.max_workers={}", workers),
                             "optimizer.kind=adamw", "stability.recovery=in_place"});
  }
  ASSIGN_OR_RETURN(const v1::SubmitResponse response, SubmitRunFile(file, submit, session));
  return response.run();
}

// Cancels the run of an interrupted demo, so that it does not resume at the next `gpctl up`.
void CancelLeftRun(const v1::Run& run, Session& session) {
  client::Interruption fresh;
  const auto client = session.NewClient(fresh);
  if (client.ok()) (void)(*client)->Cancel(run.run_id());
}

// `chaos` hurts the service in `directory` meanwhile; null: nothing does.
StatusOr<v1::Run> WatchDemo(const v1::Run& run, double seconds, Chaos* chaos,
                            const ServiceDirectory& directory, Session& session) {
  ASSIGN_OR_RETURN(const auto feed,
                   RunFeed::Open(run, {.samples = true, .time_budget_seconds = seconds}, session));
  DemoScreen screen(seconds, session);
  Status status;
  for (bool ended = false; status.ok() && !ended;) {
    const RunModel model = feed->Model();
    screen.Show(model);
    if (chaos != nullptr) {
      const auto record = directory.Load();
      const std::string done =
          record.ok() ? chaos->Strike(*record, model.run(), WallSeconds(session)) : "";
      if (!done.empty()) screen.Tell(done);
    }
    const auto result = feed->WaitForEnd(chaos == nullptr ? kRefresh : kChaosRefresh);
    status = result.status();
    ended = result.ok() && *result;
  }
  if (status.ok()) {
    feed->Drain(kNewsDrain);
    screen.Show(feed->Model());
  }
  screen.Finish();
  if (!status.ok()) CancelLeftRun(run, session);
  RETURN_IF_ERROR(status);
  return feed->Model().run();
}

Status ShowSample(const v1::Checkpoint& checkpoint, const DemoText& text, Session& session) {
  std::ostream& out = session.console().out;
  std::string sample;
  const SampleOptions options{.prompt = "The ",
                              .max_tokens = kSampleCharacters,
                              .temperature = 0.5,
                              .top_k = 40,
                              .seed = 7};
  RETURN_IF_ERROR(SampleCheckpoint(checkpoint.directory(), options, session,
                                   [&sample](const std::string& piece) { sample += piece; }));
  out << "\n" << SafeText(sample, session.utf8()) << "\n";
  const WordShare share = CountKnownWords(sample, text.text);
  out << fmt::format("words         {} of {} ({}) occur in the training text\n", share.known,
                     share.words, Percent(share.share()));
  return OkStatus();
}

Status ReportChaos(const Chaos& chaos, const v1::Run& run, Session& session) {
  ASSIGN_OR_RETURN(client::RunClient* const client, session.Client());
  std::vector<v1::MetricPoint> points;
  v1::MetricsRequest metrics;
  metrics.set_run(run.run_id());
  RETURN_IF_ERROR(client->Metrics(metrics, [&points](const v1::MetricPoint& point) {
    points.push_back(point);
    return true;
  }));
  std::vector<v1::RunEvent> events;
  v1::EventsRequest wanted;
  wanted.set_run(run.run_id());
  RETURN_IF_ERROR(client->Events(wanted, [&events](const v1::RunEvent& event) {
    events.push_back(event);
    return true;
  }));
  session.console().out << "\n" << chaos.Report(run, points, events);
  return OkStatus();
}

std::string NextCommands(const v1::Checkpoint& checkpoint, const Session& session) {
  const auto hint = [&session](const std::string& command) {
    return session.HintFor(session.StateDirectory(), command);
  };
  const std::string file = FreeRunFileName(session.console());
  return fmt::format(
      "\nTry next:\n"
      "  {} sample {} -p \"A hacker is \" -n 3\n"
      "  {:<28}  # the service again; then:\n"
      "  {:<28}  # the state of the demo's run\n"
      "  {:<28}  # every step of it\n"
      "  {:<28}  # write a run file of your own; then:\n"
      "  {}\n",
      ProgramWord(session.console()), ShellWord(checkpoint.directory()), hint("up --detach"),
      hint("status @last"), hint("metrics @last"), hint("init " + file),
      hint("submit " + file + " --wait"));
}

StatusOr<ExitCode> Report(const v1::Run& run, const DemoText& text, Session& session) {
  std::ostream& out = session.console().out;
  if (run.state() != v1::RUN_STATE_SUCCEEDED) {
    session.console().err << fmt::format("The run {}: {}\n", client::StateName(run.state()),
                                         run.reason());
    return ExitCodeOf(run.state());
  }
  ASSIGN_OR_RETURN(const v1::Checkpoint checkpoint, FindCheckpoint({.run = run.run_id()}, session));
  RETURN_IF_ERROR(ShowSample(checkpoint, text, session));
  out << fmt::format("validation    loss {} after {} steps, {} tokens\n",
                     Loss(run.progress().validation_loss()), WithThousands(run.progress().step()),
                     CompactCount(static_cast<double>(run.progress().tokens())));
  out << fmt::format("checkpoint    {}  ({}, sealed)\n", checkpoint.directory(),
                     Bytes(checkpoint.size_bytes()));
  out << NextCommands(checkpoint, session) << std::flush;
  return ExitCode::kOk;
}

StatusOr<ExitCode> Demo(const DemoOptions& options, Session& session) {
  std::ostream& out = session.console().out;
  const bool made = !FileExists(session.StateDirectory());
  // Restore the current context after saving the demo's, for a user who works with another service.
  const std::string context = CurrentContext(session);
  DemoService service(made, options.workers(), session);
  ASSIGN_OR_RETURN(const DemoText text, PrepareText(options, session));
  ASSIGN_OR_RETURN(const ServiceRecord record, service.Start());
  if (options.chaos && service.found()) {
    return FailedPrecondition(
        "--chaos kills the coordinator, so the demo needs a service of its own, and one runs in "
        "{}; "
        "stop it with '{}', or name another --state-dir",
        session.StateDirectory(), session.HintFor(session.StateDirectory(), "down"));
  }
  SaveServiceContexts(ServiceDirectory(session.StateDirectory()), record, session);
  MakeCurrent(context, session);
  Session local(WithServer(session.options(), record.address), session.console());
  out << fmt::format("coordinator {} with {} workers; training on {} ({}) for about {}\n",
                     record.address, std::min(record.workers, options.workers()), text.source,
                     Bytes(text.text.size()), DurationText(60 * options.minutes))
      << std::flush;
  ASSIGN_OR_RETURN(const v1::Run submitted, SubmitDemo(text, options, record.workers, local));
  std::optional<Chaos> chaos;
  if (options.chaos) chaos.emplace(60 * options.minutes);
  ASSIGN_OR_RETURN(const v1::Run run,
                   WatchDemo(submitted, 60 * options.minutes, chaos ? &*chaos : nullptr,
                             service.directory(), local));
  ASSIGN_OR_RETURN(const ExitCode code, Report(run, text, local));
  if (chaos) RETURN_IF_ERROR(ReportChaos(*chaos, run, local));
  RETURN_IF_ERROR(service.Stop());
  return code;
}

}  // namespace

void AddDemoCommand(CommandSet& commands) {
  const Command command =
      commands.Add("demo", kServiceGroup, "Train on real text for two minutes, sample, stop");
  auto options = std::make_shared<DemoOptions>();
  command.Option("--minutes", options->minutes, "of training (2)").Between(0.05, 1e6);
  command
      .Option("--text", options->text,
              "text file, plain or .gz (default: $TEXT, or the Jargon File)")
      .Path();
  command.Switch("--chaos", options->chaos,
                 "kill a worker, pause another and kill the coordinator meanwhile, and say what "
                 "happened");
  commands.Bind(command, [options](Session& session) { return Demo(*options, session); });
}

}  // namespace gp::gpctl
