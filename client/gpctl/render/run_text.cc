#include "client/gpctl/render/run_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/text/counted_noun.h"
#include "client/api/run_client.h"
#include "client/api/run_state_name.h"
#include "client/api/time_left.h"
#include "client/gpctl/render/connection_text.h"
#include "client/gpctl/render/leg_text.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/render/step_words.h"
#include "client/gpctl/render/use_text.h"
#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/fitted_line.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/table.h"

namespace gp::gpctl {
namespace {

// Indentation of an event's second line.
constexpr int kEventIndent = 8;

std::string EtaText(const v1::Run& run) {
  if (run.state() != v1::RUN_STATE_RUNNING) return "-";
  return DurationText(client::SecondsLeft(run.progress()));
}

// The reason without the trainer's last log line that may follow it: the run's details show that.
std::string_view WithoutLogLine(std::string_view reason) {
  return reason.substr(0, reason.find("; its last line: "));
}

// The REASON column: the reason for the run's state, or "warning: …" for a run that succeeded with
// a warning; empty for a healthy run.
std::string ReasonCell(const v1::Run& run, bool utf8) {
  const bool healthy =
      run.state() == v1::RUN_STATE_RUNNING || run.state() == v1::RUN_STATE_SUCCEEDED;
  if (!healthy) return OneSafeLine(WithoutLogLine(run.reason()), utf8);
  const bool warns = run.state() == v1::RUN_STATE_SUCCEEDED && IsWarned(run);
  return warns ? "warning: " + OneSafeLine(run.progress().warning(), utf8) : "";
}

std::string PlacementText(const v1::Run& run) {
  if (run.placement().empty()) return "";
  std::map<std::string, std::string> nodes;  // node name -> its GPUs
  for (const v1::RankPlacement& rank : run.placement()) {
    std::string& gpus = nodes[rank.node_name()];
    if (rank.slot_id().starts_with("gpu-")) gpus += (gpus.empty() ? ":" : ",") + rank.slot_id();
  }
  std::string names;
  for (const auto& [node, gpus] : nodes) names += (names.empty() ? "" : ", ") + node + gpus;
  return fmt::format("{} on {}", CountedNoun(run.placement_size(), "rank"), names);
}

// The indentation of events in a run's details.
constexpr int kEventsIndent = 4;

std::string Field(const std::string& name, const std::string& value, const TextStyle& style = {}) {
  if (value.empty()) return "";
  return LabelledLine(name, value, style.width);
}

// The lines of a note stay lines.
std::string NoteText(const v1::Run& run, const TextStyle& style) {
  std::string text;
  std::string_view rest = run.note();
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const std::string line = OneSafeLine(rest.substr(0, end), style.utf8);
    text += LabelledLine(text.empty() ? "note" : "", line, style.width);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return text;
}

std::string ProgressText(const v1::Run& run) {
  const v1::Progress& progress = run.progress();
  if (progress.target_steps() <= 0 && progress.step() == 0) return "";
  std::string text = fmt::format("step {}", StepOfTarget(progress));
  if (progress.target_steps() > 0) {
    text += fmt::format(" ({})",
                        Percent(static_cast<double>(progress.step()) / progress.target_steps()));
  }
  if (progress.tokens() > 0) text += fmt::format(", {} tokens", CompactCount(progress.tokens()));
  if (run.state() == v1::RUN_STATE_RUNNING) text += fmt::format(", ETA {}", EtaText(run));
  return text;
}

// "2, from step 300: extended to 500 steps"; empty for a run that has only one leg.
std::string LegText(const v1::Run& run) {
  if (run.legs_size() < 2) return "";
  const v1::Leg& leg = run.legs(run.legs_size() - 1);
  return fmt::format("{}, from {}", leg.number(), BeginningText(leg));
}

std::string QueueText(const v1::Run& run) {
  if (run.queue_position() <= 0) return "";
  return "place " + WithThousands(run.queue_position()) + " of all that wait for slots";
}

std::string LossText(const v1::Progress& progress) {
  if (progress.step() == 0) return "";
  std::string text = "train " + Loss(progress.loss());
  if (progress.validation_step() > 0) {
    text += fmt::format(", validation {} at step {}", Loss(progress.validation_loss()),
                        WithThousands(progress.validation_step()));
  }
  return text;
}

std::string ScoresText(const v1::Progress& progress) {
  std::string text;
  for (const v1::NewestScore& score : progress.scores()) {
    text +=
        fmt::format("{}{} {:.4f} at step {}", text.empty() ? "" : ", ",
                    OneSafeLine(score.name(), false), score.value(), WithThousands(score.step()));
  }
  return text;
}

std::string SpeedText(const v1::Progress& progress) {
  if (progress.step() == 0) return "";
  std::string text = fmt::format("{} tok/s, {} a step", CompactCount(progress.tokens_per_second()),
                                 StepTimeText(progress.step_seconds()));
  const std::string mfu = MfuText(progress.mfu(), progress.peak_flops(), progress.peak_source());
  return mfu.empty() ? text : text + ", " + mfu;
}

std::string PhasesText(const v1::Progress& progress) {
  return progress.has_phases() ? PhaseText(progress.phases(), progress.step_seconds(), 0) : "";
}

std::string SkippedText(const v1::Progress& progress) {
  if (progress.skipped_steps() == 0) return "";
  const int64_t steps = progress.skipped_steps(), spikes = progress.skipped_spikes();
  const char* const plural = steps == 1 ? "" : "s";
  if (spikes == 0) {
    return fmt::format("{} step{} whose update was not finite", WithThousands(steps), plural);
  }
  return fmt::format("{} step{}: {} not finite, {} a spike of the loss", WithThousands(steps),
                     plural, WithThousands(steps - spikes), WithThousands(spikes));
}

// The best evaluation, if the run does not build on a checkpoint of it: then RUN@best is another
// one.
std::string UnsavedBestText(const v1::Run& run) {
  const v1::Progress& progress = run.progress();
  const std::string& directory = progress.best_validation_checkpoint();
  const bool superseded = progress.best_validation_superseded();
  if (!progress.has_best_validation_loss() || (!directory.empty() && !superseded)) return "";
  const std::string best =
      fmt::format("step {}{} had the lowest validation loss, {}",
                  WithThousands(progress.best_validation_step()),
                  superseded ? " of an earlier leg" : "", Loss(progress.best_validation_loss()));
  if (superseded) return fmt::format("{}; its checkpoint is {}", best, directory);
  return best + "; no checkpoint of it exists (checkpoint.on_best: true saves each improvement)";
}

std::string CheckpointText(const v1::Run& run) {
  const std::string unsaved = UnsavedBestText(run);
  if (run.latest_checkpoint_step() < 0) return unsaved;
  std::string text = fmt::format("step {}", WithThousands(run.latest_checkpoint_step()));
  if (run.best_checkpoint_step() >= 0) {
    text += fmt::format(", best at step {}", WithThousands(run.best_checkpoint_step()));
  }
  return text + (unsaved.empty() ? "" : "; ") + unsaved;
}

// Whether a user other than the service's owner submitted the run. Most services have no others.
bool IsOfAnotherUser(const v1::Run& run) {
  return !run.submitted_by().empty() && run.submitted_by() != "owner";
}

// Optional columns: shown if the runs' namespaces differ, or if a run is not the owner's.
struct RunColumns {
  bool namespaces = false;
  bool users = false;
};

std::vector<Table::Cell> RunRow(const v1::Run& run, const RunColumns& shown, double now,
                                const TextStyle& style) {
  const v1::Progress& progress = run.progress();
  const bool stepped = progress.step() > 0;
  std::vector<Table::Cell> row = {run.name()};
  if (shown.namespaces) row.emplace_back(OneSafeLine(run.namespace_(), style.utf8));
  if (shown.users) row.emplace_back(OneSafeLine(UserName(run), style.utf8));
  row.insert(row.end(), {{StateWord(run), style.color ? StateColor(run) : Color::kNone},
                         stepped ? StepOfTarget(progress) : "-",
                         stepped ? Loss(progress.loss()) : "-",
                         progress.validation_step() > 0 ? Loss(progress.validation_loss()) : "-",
                         stepped ? CompactCount(progress.tokens_per_second()) : "-",
                         EtaText(run),
                         DurationText(now - Seconds(run.submitted_at())),
                         run.run_id(),
                         ReasonCell(run, style.utf8)});
  return row;
}

// "latest, best": the marks of the checkpoint.
std::string MarksOf(const v1::Checkpoint& checkpoint) {
  if (checkpoint.has_quarantined_at()) return "quarantined";
  if (checkpoint.superseded()) {
    return fmt::format("leg {}, superseded{}", checkpoint.leg(),
                       checkpoint.pinned() ? ", pinned" : "");
  }
  std::string marks = checkpoint.latest() ? "latest" : "";
  if (checkpoint.best()) marks += marks.empty() ? "best" : ", best";
  if (checkpoint.pinned()) marks += marks.empty() ? "pinned" : ", pinned";
  return marks;
}

// The directory that contains all checkpoints, ending in '/'; "" if they are in several
// directories.
std::string SharedParent(const std::vector<v1::Checkpoint>& checkpoints) {
  const std::string& first = checkpoints.front().directory();
  const std::string parent = first.substr(0, first.rfind('/') + 1);
  const bool shared =
      std::all_of(checkpoints.begin(), checkpoints.end(), [&](const v1::Checkpoint& checkpoint) {
        return checkpoint.directory().substr(0, checkpoint.directory().rfind('/') + 1) == parent;
      });
  return shared ? parent : "";
}

// The model that the run began with: "base@150 (ID), after 4,800 tokens" for a checkpoint of a run.
std::string BeganWithText(const v1::Run& run) {
  if (!run.has_parent()) return run.initial_model();
  const v1::CheckpointOfRun& parent = run.parent();
  std::string text =
      parent.run_name().empty()
          ? fmt::format("{}@{}", parent.run_id(), parent.step())
          : fmt::format("{}@{} ({})", parent.run_name(), parent.step(), parent.run_id());
  if (parent.tokens() > 0) text += fmt::format(", after {} tokens", WithThousands(parent.tokens()));
  return text;
}

std::string RestartText(const v1::Run& run) {
  if (run.failures() == 0) return "";
  return fmt::format("{} after a failure, epoch {}", run.failures(), run.epoch());
}

}  // namespace

bool AreOfSeveralNamespaces(const std::vector<v1::Run>& runs) {
  return std::any_of(runs.begin(), runs.end(), [&](const v1::Run& run) {
    return run.namespace_() != runs.front().namespace_();
  });
}

std::string RunTable(const std::vector<v1::Run>& runs, double now, const TextStyle& style) {
  const RunColumns shown = {.namespaces = AreOfSeveralNamespaces(runs),
                            .users = std::any_of(runs.begin(), runs.end(), IsOfAnotherUser)};
  std::vector<Table::Column> columns = {{.title = "NAME", .shorten = true}};
  if (shown.namespaces) columns.push_back({.title = "NAMESPACE", .shorten = true});
  if (shown.users) columns.push_back({.title = "USER", .rank = 1});
  columns.insert(columns.end(), {{.title = "STATE"},
                                 {.title = "STEP", .align = Align::kRight},
                                 {.title = "LOSS", .align = Align::kRight},
                                 {.title = "VAL", .align = Align::kRight, .rank = 3},
                                 {.title = "TOK/S", .align = Align::kRight, .rank = 4},
                                 {.title = "ETA", .align = Align::kRight, .rank = 2},
                                 {.title = "AGE", .align = Align::kRight, .rank = 6},
                                 {.title = "ID", .rank = 5},
                                 {.title = "REASON"}});
  Table table(std::move(columns));
  for (const v1::Run& run : runs) table.AddRow(RunRow(run, shown, now, style));
  return table.Render(style.width, style.utf8);
}

std::string RunDetails(const v1::Run& run, const DetailsContext& context, double now,
                       const TextStyle& style) {
  TextStyle unbroken = style;
  unbroken.width = 0;
  std::string state = client::StateName(run.state());
  for (char& c : state) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (style.color) state = Colored(state, StateColor(run));
  std::string out = fmt::format("{}  {}  {}  {}\n", run.name(), state,
                                DurationText(ElapsedSeconds(run, now)), run.run_id());
  out += Field("reason", OneSafeLine(run.reason(), style.utf8), style);
  out += Field("queue", QueueText(run), style);
  out += Field("began with", OneSafeLine(BeganWithText(run), style.utf8), style);
  out += Field("leg", LegText(run), style);
  out += Field("progress", ProgressText(run), style);
  out += Field("loss", LossText(run.progress()), style);
  out += Field("scores", ScoresText(run.progress()), style);
  out += Field("speed", SpeedText(run.progress()), style);
  out += Field("phases", PhasesText(run.progress()), style);
  out += Field("cores", ProcessorWaitText(run.progress()), style);
  out += Field("skipped", SkippedText(run.progress()), style);
  out += Field("warning", OneSafeLine(run.progress().warning(), style.utf8), style);
  out += Field("placement", PlacementText(run), style);
  out += Field("use", run.has_use() ? UseText(run.use()) : "", style);
  out += Field("gradients", GradientsText(run), style);
  out += Field("checkpoint", CheckpointText(run), style);
  out += Field("restarts", RestartText(run), style);
  out += Field("labels", OneSafeLine(LabelsText(run), style.utf8), style);
  out += NoteText(run, style);
  out += Field("user", IsOfAnotherUser(run) ? OneSafeLine(UserName(run), style.utf8) : "", style);
  out += Field("directory", run.run_directory());
  out += Field("connection", context.connection, style);
  if (!context.newest_events.empty()) out += "  events\n";
  for (const v1::RunEvent& event : context.newest_events) {
    const std::string line = std::string(kEventsIndent, ' ') + EventText(event, unbroken);
    out += Wrapped(line, style.width, kEventsIndent + kEventIndent) + "\n";
  }
  return out + Field("next", context.next);
}

std::string NextCommand(const v1::Run& run) {
  switch (run.state()) {
    case v1::RUN_STATE_SUCCEEDED:
      return "sample " + run.name();
    case v1::RUN_STATE_FAILED:
      return fmt::format("logs {} --tail 50", run.name());
    case v1::RUN_STATE_CANCELLED:
      return run.latest_checkpoint_step() >= 0 ? "ckpt list " + run.name() : "";
    case v1::RUN_STATE_QUEUED:
      return "why " + run.name();
    case v1::RUN_STATE_PAUSED:
      return "resume " + run.name();
    default:
      return "watch " + run.name();
  }
}

std::string EventText(const v1::RunEvent& event, const TextStyle& style) {
  std::string text = fmt::format("{}  {:<13} {:<18} {}", DateTimeText(event.at().seconds()),
                                 client::StateName(event.state()), event.kind(),
                                 OneSafeLine(event.reason(), style.utf8));
  if (!event.actor().empty()) text += fmt::format("  ({})", OneSafeLine(event.actor(), style.utf8));
  return Wrapped(text, style.width, kEventIndent);
}

std::string LogLineText(const v1::LogLine& line, bool with_rank, const TextStyle& style) {
  const std::string text = OneSafeLine(line.text(), style.utf8);
  if (!with_rank) return text;
  return (line.rank() < 0 ? "service " : fmt::format("rank {} ", line.rank())) + text;
}

std::string CheckpointTable(const std::vector<v1::Checkpoint>& checkpoints, double now,
                            const TextStyle& style) {
  // On a terminal, print the common parent directory once below the table, because whole paths are
  // too long.
  const std::string parent = style.width > 0 ? SharedParent(checkpoints) : "";
  Table table({{.title = "STEP", .align = Align::kRight},
               {.title = "VAL", .align = Align::kRight},
               {.title = "SIZE", .align = Align::kRight, .rank = 1},
               {.title = "SEALED", .rank = 2},
               {.title = ""},
               {.title = "DIRECTORY", .shorten = true}});
  for (const v1::Checkpoint& checkpoint : checkpoints) {
    table.AddRow({WithThousands(checkpoint.step()),
                  checkpoint.has_validation_loss() ? Loss(checkpoint.validation_loss()) : "-",
                  Bytes(checkpoint.size_bytes()), AgoText(now - Seconds(checkpoint.sealed_at())),
                  MarksOf(checkpoint), checkpoint.directory().substr(parent.size())});
  }
  std::string out = table.Render(style.width, style.utf8);
  if (!parent.empty()) out += "The directories are in " + parent + "\n";
  for (const v1::Checkpoint& checkpoint : checkpoints) {
    if (!checkpoint.has_quarantined_at()) continue;
    const std::string reason = fmt::format("step {}: {}", WithThousands(checkpoint.step()),
                                           OneSafeLine(checkpoint.quarantine_reason(), style.utf8));
    out += Wrapped(reason, style.width, kEventsIndent) + "\n";
  }
  return out;
}

std::string CheckpointDetails(const v1::Checkpoint& checkpoint, double now) {
  std::string out = fmt::format("checkpoint of run {} at step {}\n", checkpoint.run_id(),
                                WithThousands(checkpoint.step()));
  if (checkpoint.has_validation_loss())
    out += Field("validation", Loss(checkpoint.validation_loss()));
  out += Field("size", Bytes(checkpoint.size_bytes()));
  out += Field("sealed", fmt::format("{} ({})", DateTimeText(checkpoint.sealed_at().seconds()),
                                     AgoText(now - Seconds(checkpoint.sealed_at()))));
  out += Field("epoch", fmt::format("{}", checkpoint.epoch()));
  out += Field("manifest", "sha256 " + checkpoint.manifest_digest());
  if (checkpoint.has_quarantined_at()) {
    out += Field("quarantined",
                 fmt::format("{}, {}", AgoText(now - Seconds(checkpoint.quarantined_at())),
                             OneSafeLine(checkpoint.quarantine_reason(), false)));
  }
  return out + Field("directory", checkpoint.directory());
}

std::string StepLine(const v1::MetricPoint& point, int64_t target_steps, const TextStyle& style) {
  // Prefer the point's target: with a time budget, the last step becomes known only during the run.
  if (point.target_steps() > 0) target_steps = point.target_steps();
  std::vector<LinePart> parts;
  const auto add = [&parts](std::string text, int rank = 0) {
    parts.push_back({std::move(text), rank});
  };
  add(target_steps > 0 ? fmt::format("step {}/{}", point.step(), target_steps)
                       : fmt::format("step {}", point.step()));
  add("loss " + Loss(point.loss()));
  if (point.has_validation_loss()) add("val " + Loss(point.validation_loss()));
  for (const v1::Score& score : point.scores()) {
    add(fmt::format("{} {:.4f}", OneSafeLine(score.name(), false), score.value()));
  }
  add(fmt::format("norm {:.2f}", point.gradient_norm()), 3);
  add("lr " + LearningRate(point.learning_rate()), 4);
  add(StepTimeText(point.step_seconds()), 2);
  if (point.mfu() > 0) add(Percent(point.mfu()) + " mfu", 1);
  add(CompactCount(point.tokens_per_second()) + " tok/s");
  if (point.skipped()) {
    add(point.spike() ? "update skipped: a spike of the loss" : "update skipped: not finite");
  }
  return FittedLine(std::move(parts), " | ", style.width);
}

}  // namespace gp::gpctl
