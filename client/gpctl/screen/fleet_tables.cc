#include "client/gpctl/screen/fleet_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "client/api/run_state_name.h"
#include "client/api/time_left.h"
#include "client/gpctl/render/node_text.h"
#include "client/gpctl/render/run_words.h"
#include "client/gpctl/render/step_words.h"
#include "client/gpctl/render/use_text.h"
#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/fitted_line.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/sparkline.h"
#include "client/gpctl/terminal/table.h"

namespace gp::gpctl {
namespace {

constexpr int kBarWidth = 12;
constexpr int kBarsFrom = 150;  // columns of the terminal

// Table always writes the colours of its cells.
Color Shown(Color color, const TextStyle& style) { return style.color ? color : Color::kNone; }

std::string Number(bool known, const std::string& text) { return known ? text : "-"; }

int SparkCellsOf(int width) { return width >= 200 ? 40 : width >= kBarsFrom ? 24 : 16; }

std::string LossSpark(const FleetModel& model, const v1::Run& run, const TextStyle& style) {
  const ThinnedCurve* losses = model.LossesOf(run.run_id());
  if (losses == nullptr) return "";
  std::vector<double> values;
  for (const ThinnedCurve::Point& point : losses->points()) values.push_back(point.value);
  return Sparkline(values, SparkCellsOf(style.width), style.utf8);
}

// What the run needs attention for: its warning, or why it does not train.
std::string NoteOf(const v1::Run& run, bool utf8) {
  if (IsWarned(run)) return "! " + OneSafeLine(run.progress().warning(), utf8);
  return run.state() == v1::RUN_STATE_RUNNING ? "" : OneSafeLine(run.reason(), utf8);
}

Color NodeColor(const v1::Node& node) {
  const std::string state = NodeStateName(node);
  if (state == "lost") return Color::kRed;
  return state == "busy" || state == "ready" ? Color::kGreen : Color::kYellow;
}

// "[███▎  ] 3.8 of 4" on a wide terminal.
std::string WithBar(double share, const std::string& text, const TextStyle& style) {
  if (share < 0 || style.width < kBarsFrom) return text;
  return ProgressBar(share, kBarWidth, style.utf8) + " " + text;
}

struct SlotSums {
  int busy = 0;
  int all = 0;
};

SlotSums SlotsOf(const v1::Node& node, bool gpu) {
  SlotSums sums;
  for (const v1::Slot& slot : node.slots()) {
    if (IsGpu(slot) != gpu) continue;
    ++sums.all;
    sums.busy += slot.run_id().empty() ? 0 : 1;
  }
  return sums;
}

std::string SlotsText(const v1::Node& node) {
  std::string text;
  for (const bool gpu : {true, false}) {
    const SlotSums sums = SlotsOf(node, gpu);
    if (sums.all == 0) continue;
    text += fmt::format("{}{}/{} {}", text.empty() ? "" : ", ", sums.busy, sums.all,
                        gpu ? "gpu" : "cpu");
  }
  return text.empty() ? "-" : text;
}

// Names are shortened so that reasons and notes have room.
std::string ShortName(const v1::Run& run, const TextStyle& style) {
  constexpr int kNameMin = 16;
  const std::string name = OneSafeLine(run.name(), style.utf8);
  if (style.width <= 0) return name;
  return CutMiddleToWidth(name, std::max(kNameMin, style.width / 5), style.utf8);
}

// The next one first; those without a place last.
std::vector<v1::Run> WaitingInOrder(const FleetModel& model) {
  std::vector<v1::Run> waiting;
  for (const v1::Run& run : model.runs()) {
    if (IsWaiting(run)) waiting.push_back(run);
  }
  const auto place = [](const v1::Run& run) {
    return run.queue_position() > 0 ? run.queue_position() : std::numeric_limits<int32_t>::max();
  };
  std::stable_sort(waiting.begin(), waiting.end(),
                   [&](const v1::Run& a, const v1::Run& b) { return place(a) < place(b); });
  return waiting;
}

std::map<std::string, std::string> NamesById(const std::vector<v1::Run>& runs) {
  std::map<std::string, std::string> names;
  for (const v1::Run& run : runs) names[run.run_id()] = run.name();
  return names;
}

std::string RunsOn(const v1::Node& node, const std::map<std::string, std::string>& names) {
  std::set<std::string> shown;
  std::string text;
  for (const v1::Slot& slot : node.slots()) {
    if (slot.run_id().empty() || !shown.insert(slot.run_id()).second) continue;
    const auto name = names.find(slot.run_id());
    text += (text.empty() ? "" : ", ") + (name == names.end() ? slot.run_id() : name->second);
  }
  return text;
}

// Why the node is not used, or the runs on it.
std::string NodeNote(const v1::Node& node, const std::map<std::string, std::string>& names,
                     bool utf8) {
  for (const std::string& problem : {node.storage_problem(), node.cordon().reason()}) {
    if (!problem.empty()) return OneSafeLine(problem, utf8);
  }
  return RunsOn(node, names);
}

}  // namespace

bool IsWaiting(const v1::Run& run) {
  return run.state() == v1::RUN_STATE_SUBMITTED || run.state() == v1::RUN_STATE_QUEUED;
}

std::string StartedRunsTable(const FleetModel& model, const TextStyle& style) {
  Table table({{.title = "RUN", .shorten = true},
               {.title = "STATE", .rank = 3},
               {.title = "STEP", .align = Align::kRight, .rank = 2},
               {.title = "LOSS", .align = Align::kRight},
               {.title = "", .rank = 4},
               {.title = "VAL", .align = Align::kRight, .rank = 8},
               {.title = "TOK/S", .align = Align::kRight, .rank = 1},
               {.title = "MFU", .align = Align::kRight, .rank = 5},
               {.title = "RANKS", .align = Align::kRight, .rank = 9},
               {.title = "USE", .rank = 10},
               {.title = "ETA", .align = Align::kRight, .rank = 1},
               {.title = "", .rank = 7}});
  for (const v1::Run& run : model.runs()) {
    if (IsWaiting(run)) continue;
    const v1::Progress& progress = run.progress();
    const bool stepped = progress.step() > 0;
    const bool trains = stepped && run.state() == v1::RUN_STATE_RUNNING;
    const double left = client::SecondsLeft(progress);
    table.AddRow({ShortName(run, style),
                  {StateWord(run), Shown(StateColor(run), style)},
                  StepOfTarget(progress),
                  Number(stepped, Loss(progress.loss())),
                  LossSpark(model, run, style),
                  Number(progress.validation_step() > 0, Loss(progress.validation_loss())),
                  Number(trains, CompactCount(progress.tokens_per_second())),
                  Number(trains && progress.mfu() > 0, Percent(progress.mfu())),
                  fmt::format("{}", run.workers()),
                  Number(run.has_use(), UseText(run.use())),
                  Number(trains && left >= 0, DurationText(left)),
                  {NoteOf(run, style.utf8), Shown(Color::kYellow, style)}});
  }
  return table.Render(style.width, style.utf8);
}

std::string WaitingRunsTable(const FleetModel& model, double now, const TextStyle& style) {
  Table table({{.title = "QUEUE", .align = Align::kRight, .rank = 2},
               {.title = "RUN", .shorten = true},
               {.title = "RANKS", .align = Align::kRight, .rank = 3},
               {.title = "WAITS", .align = Align::kRight, .rank = 4},
               {.title = "REASON"}});
  for (const v1::Run& run : WaitingInOrder(model)) {
    table.AddRow({Number(run.queue_position() > 0, fmt::format("{}", run.queue_position())),
                  ShortName(run, style), fmt::format("{}", run.workers()),
                  DurationText(std::max(0.0, now - Seconds(run.submitted_at()))),
                  OneSafeLine(run.reason(), style.utf8)});
  }
  return table.Render(style.width, style.utf8);
}

std::string FleetNodesTable(const FleetModel& model, const TextStyle& style) {
  const auto names = NamesById(model.runs());
  Table table({{.title = "NODE", .shorten = true},
               {.title = "STATE", .rank = 2},
               {.title = "SLOTS"},
               {.title = "CORES", .rank = 1},
               {.title = "MEMORY", .rank = 3},
               {.title = "DISK FREE", .rank = 4},
               {.title = "", .rank = 5}});
  for (const v1::Node& node : model.nodes().nodes()) {
    table.AddRow({OneSafeLine(node.name(), style.utf8),
                  {NodeStateName(node), Shown(NodeColor(node), style)},
                  SlotsText(node),
                  WithBar(CoresShare(node), CoresText(node), style),
                  WithBar(MemoryShare(node), MemoryText(node), style),
                  WithBar(DiskShare(node), FreeDiskText(node), style),
                  NodeNote(node, names, style.utf8)});
  }
  return table.Render(style.width, style.utf8);
}

std::string FleetSums(const FleetModel& model, int width) {
  int waiting = 0;
  int running = 0;
  double speed = 0;
  std::map<v1::RunState, int> others;
  for (const v1::Run& run : model.runs()) {
    if (IsWaiting(run)) {
      ++waiting;
      continue;
    }
    if (run.state() != v1::RUN_STATE_RUNNING) {
      ++others[run.state()];
      continue;
    }
    ++running;
    speed += run.progress().tokens_per_second();
  }
  std::vector<LinePart> parts = {{fmt::format("{} running", running)},
                                 {fmt::format("{} waiting", waiting)}};
  for (const auto& [state, count] : others) {
    parts.push_back({fmt::format("{} {}", count, client::StateName(state)), 3});
  }
  for (const bool gpu : {true, false}) {
    SlotSums sums;
    for (const v1::Node& node : model.nodes().nodes()) {
      const SlotSums of_node = SlotsOf(node, gpu);
      sums.busy += of_node.busy;
      sums.all += of_node.all;
    }
    if (sums.all == 0) continue;
    parts.push_back({fmt::format("{}/{} {} busy", sums.busy, sums.all, gpu ? "GPUs" : "slots"), 1});
  }
  if (speed > 0) parts.push_back({CompactCount(speed) + " tok/s", 2});
  return FittedLine(std::move(parts), "   ", width);
}

}  // namespace gp::gpctl
