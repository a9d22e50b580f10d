#include "client/gpctl/screen/run_panes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <string>

#include "base/text/counted_noun.h"
#include "client/gpctl/screen/screen_footer.h"
#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

constexpr int kClockWidth = 10;  // "09:14:07  "

struct Phase {
  const char* name;
  char letter;  // for terminals without block characters
  Color color;
  double seconds;
};

std::vector<Phase> PhasesOf(const v1::PhaseSeconds& phases) {
  return {{"forward", 'f', Color::kBlue, phases.forward()},
          {"backward", 'b', Color::kCyan, phases.backward()},
          {"all-reduce", 'a', Color::kMagenta, phases.allreduce_exposed()},
          {"optim", 'o', Color::kGreen, phases.optimizer()},
          {"data", 'd', Color::kYellow, phases.data_wait()},
          {"other", '.', Color::kGrey, phases.other()}};
}

ScreenLine PhaseBar(const std::vector<Phase>& phases, double total, const TextStyle& style) {
  ScreenLine line;
  double seconds = 0;
  int begin = 0;
  for (const Phase& phase : phases) {
    seconds += phase.seconds;
    const int end = static_cast<int>(std::lround(seconds / total * style.width));
    std::string cells;
    for (int i = begin; i < std::min(end, style.width); ++i) {
      cells += style.utf8 && style.color ? std::string("█") : std::string(1, phase.letter);
    }
    line.Add(cells, phase.color);
    begin = std::max(begin, end);
  }
  return line;
}

// Phases of less than a percent are left out if the line is too long.
ScreenLine PhaseLegend(const std::vector<Phase>& phases, double total, const TextStyle& style) {
  const std::string mark = style.utf8 && style.color ? "■ " : "";
  for (const double least : {0.0, 0.005, 0.015, 0.035}) {
    ScreenLine line;
    for (const Phase& phase : phases) {
      const double share = phase.seconds / total;
      if (share < least) continue;
      if (!line.empty()) line.Add("  ");
      line.Add(mark, phase.color).Add(fmt::format("{} {:.0f}%", phase.name, 100 * share));
    }
    if (line.width() <= style.width) return line;
  }
  ScreenLine line;
  for (const Phase& phase : phases) {
    const std::string text = fmt::format("{}{} {:.0f}%", line.empty() ? "" : " ", phase.name,
                                         100 * phase.seconds / total);
    if (line.width() + DisplayWidth(text) <= style.width) line.Add(text);
  }
  return line;
}

// "0-3, 6"
std::string RankList(const std::vector<int>& ranks) {
  std::string text;
  for (size_t begin = 0; begin < ranks.size();) {
    size_t end = begin;
    while (end + 1 < ranks.size() && ranks[end + 1] == ranks[end] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += begin == end ? fmt::format("{}", ranks[begin])
                         : fmt::format("{}-{}", ranks[begin], ranks[end]);
    begin = end + 1;
  }
  return text;
}

std::map<std::string, std::vector<int>> RanksByNode(const v1::Run& run) {
  std::map<std::string, std::vector<int>> nodes;
  for (const v1::RankPlacement& rank : run.placement())
    nodes[rank.node_name()].push_back(rank.rank());
  for (auto& [name, ranks] : nodes) std::sort(ranks.begin(), ranks.end());
  return nodes;
}

// "2 nodes: node-a 0-1, node-b 2-3"
ScreenLine NodesInOneLine(const std::map<std::string, std::vector<int>>& nodes) {
  std::string text = CountedNoun(static_cast<int64_t>(nodes.size()), "node") + ":";
  for (const auto& [name, ranks] : nodes) {
    text += fmt::format("{} {} {}", text.back() == ':' ? "" : ",", name, RankList(ranks));
  }
  return ScreenLine(text);
}

// Puts the lines of newer texts below those of older ones, as many as fit. `lines_of` is called
// with the newest text first.
template <typename Items, typename LinesOf>
std::vector<ScreenLine> NewestLast(const Items& items, int rows, LinesOf lines_of) {
  std::deque<ScreenLine> lines;
  for (auto item = items.rbegin(); item != items.rend(); ++item) {
    const int left = rows - static_cast<int>(lines.size());
    if (left <= 0) break;
    const std::vector<ScreenLine> added = lines_of(*item, left);
    lines.insert(lines.begin(), added.begin(), added.end());
  }
  return {lines.begin(), lines.end()};
}

}  // namespace

std::vector<ScreenLine> PhasePane(const v1::Progress& progress, int rows, const TextStyle& style) {
  const std::vector<Phase> phases = PhasesOf(progress.phases());
  double total = 0;
  for (const Phase& phase : phases) total += phase.seconds;
  if (total <= 0 || rows < 1) return {};
  std::vector<ScreenLine> lines;
  if (rows > 1) lines.push_back(PhaseBar(phases, total, style));
  lines.push_back(PhaseLegend(phases, total, style));
  return lines;
}

int NodePaneRows(const v1::Run& run) {
  return static_cast<int>(RanksByNode(run).size()) + (run.has_use() ? 1 : 0);
}

std::vector<ScreenLine> NodePane(const v1::Run& run, int rows, const TextStyle& style) {
  std::vector<ScreenLine> lines;
  if (run.has_use() && rows > 1) {
    lines.emplace_back(
        fmt::format("use {:.1f} cores, {}", run.use().cores(), Bytes(run.use().memory_bytes())));
  }
  const auto nodes = RanksByNode(run);
  const int room = rows - static_cast<int>(lines.size());
  if (room == 1 && nodes.size() > 1) {
    lines.push_back(NodesInOneLine(nodes));
    return lines;
  }
  int shown = 0;
  for (const auto& [name, ranks] : nodes) {
    const int left = static_cast<int>(nodes.size()) - shown;
    if (++shown == room && left > 1) {
      lines.emplace_back(fmt::format("and {} more nodes", left), Color::kGrey);
      break;
    }
    ScreenLine line(CutMiddleToWidth(name, std::max(style.width / 2, 8), style.utf8));
    line.Add(fmt::format("  rank{} {}", ranks.size() == 1 ? "" : "s", RankList(ranks)),
             Color::kGrey);
    lines.push_back(line);
  }
  return lines;
}

std::vector<ScreenLine> SamplePane(const RunModel& model, int rows, const TextStyle& style) {
  if (model.samples().empty() || rows < 1) return {};
  const Sample& sample = model.samples().back();
  const std::string place = fmt::format("@{}  ", WithThousands(sample.step));
  if (rows <= 3) {
    std::vector<ScreenLine> lines =
        WrappedLines(place + OneSafeLine(sample.text, style.utf8), style.width, rows, 0);
    return lines;
  }
  std::string text = SafeText(sample.text, style.utf8);
  std::replace(text.begin(), text.end(), '\t', ' ');
  std::vector<ScreenLine> lines = {
      ScreenLine(fmt::format("at step {}", WithThousands(sample.step)), Color::kGrey)};
  for (size_t begin = 0; begin <= text.size() && std::ssize(lines) < rows;) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const auto added = WrappedLines(text.substr(begin, end - begin), style.width,
                                    rows - static_cast<int>(lines.size()), 0);
    lines.insert(lines.end(), added.begin(), added.end());
    begin = end + 1;
  }
  return lines;
}

std::vector<ScreenLine> EventPane(const RunModel& model, int rows, const TextStyle& style) {
  return NewestLast(model.events(), rows, [&](const v1::RunEvent& event, int left) {
    const std::string clock = ClockText(event.at().seconds());
    const std::string reason = OneSafeLine(event.reason(), style.utf8);
    const std::string text = clock + "  " + reason;
    std::vector<ScreenLine> lines = WrappedLines(text, style.width, left + 1, kClockWidth);
    if (std::ssize(lines) > std::max(left, 1) || left < 4) lines = {ScreenLine(text)};
    return lines;
  });
}

std::vector<ScreenLine> LogPane(const RunModel& model, int rows, const TextStyle& style) {
  if (model.lines().empty()) return {ScreenLine("No line was logged yet.", Color::kGrey)};
  return NewestLast(model.lines(), rows, [&](const v1::LogLine& line, int left) {
    return WrappedLines(LogLineText(line, model.run().workers() > 1 || line.rank() < 0, style),
                        style.width, left, 2);
  });
}

}  // namespace gp::gpctl
