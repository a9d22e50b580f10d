#include "client/gpctl/screen/fleet_dashboard.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/gpctl/screen/fleet_tables.h"
#include "client/gpctl/screen/screen_footer.h"
#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/screen_parts.h"

namespace gp::gpctl {
namespace {

std::vector<ScreenLine> LinesOf(const std::string& text) {
  std::vector<ScreenLine> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(ScreenLine::OfColored(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return lines;
}

// The titles with " +3" in the first gap between two columns that has room for it.
std::string WithCount(std::string titles, int count) {
  const std::string mark = fmt::format(" +{}", count);
  const size_t gap = titles.find(std::string(mark.size() + 1, ' '), titles.find_first_not_of(' '));
  return gap == std::string::npos ? titles + mark : titles.replace(gap, mark.size(), mark);
}

// The last row at which a window of `rows` lines may begin: the rows after it fill the window.
int LastFirst(int all, int rows) { return std::max(all - std::max(rows - 1, 1), 0); }

// Titles, then the rows from `first` on. If they do not fit into `rows` lines, the last line says
// how many more there are; if there are few lines, the titles say it.
std::vector<ScreenLine> Window(const std::vector<ScreenLine>& table, int first, int rows,
                               bool utf8) {
  constexpr int kWithLastLine = 4;
  const int all = static_cast<int>(table.size()) - 1;
  first = std::clamp(first, 0, LastFirst(all, rows));
  const bool more = all - first > rows - 1;
  const bool last_line = more && rows >= kWithLastLine;
  const int shown = std::clamp(rows - 1 - (last_line ? 1 : 0), 0, all - first);
  const int left = all - first - shown;
  const std::string titles = table.front().Text(false);
  std::vector<ScreenLine> lines = {
      ScreenLine(more && !last_line ? WithCount(titles, left) : titles, Color::kBold)};
  lines.insert(lines.end(), table.begin() + 1 + first, table.begin() + 1 + first + shown);
  if (last_line) {
    lines.emplace_back(fmt::format("  {} {} more", utf8 ? "…" : "...", left), Color::kGrey);
  }
  return lines;
}

std::string TableOf(const FleetModel& model, FleetPage page, double now, const TextStyle& style) {
  if (page == FleetPage::kRuns) return StartedRunsTable(model, style);
  if (page == FleetPage::kQueue) return WaitingRunsTable(model, now, style);
  return FleetNodesTable(model, style);
}

ScreenLine Heading(const FleetModel& model, const TextStyle& style) {
  ScreenLine line("gpctl top", Color::kBold);
  const std::string sums = FleetSums(model, style.width - line.width() - 3);
  return line.Add("   " + sums);
}

// A section that is left out where it has no rows.
void AddSection(const FleetModel& model, FleetPage page, int rank, int weight, double now,
                const TextStyle& style, std::vector<ScreenPart>& parts) {
  const std::vector<ScreenLine> table = LinesOf(TableOf(model, page, now, style));
  const int rows = static_cast<int>(table.size());
  if (rows < 2) return;
  const bool roomy = style.height >= 16;  // with a blank line after the section before
  parts.push_back({.least = roomy ? 3 : 2,
                   .most = rows + (roomy ? 1 : 0),
                   .rank = rank,
                   .weight = weight,
                   .draw = [table, roomy, utf8 = style.utf8](int share) {
                     std::vector<ScreenLine> lines =
                         Window(table, 0, share - (roomy ? 1 : 0), utf8);
                     if (roomy) lines.insert(lines.begin(), ScreenLine());
                     return lines;
                   }});
}

std::vector<ScreenLine> HelpPage(int rows, const TextStyle& style) {
  const std::vector<KeyHelp> keys = {{"q", "quit; runs are not affected"},
                                     {"r", "only the runs that have started"},
                                     {"w", "only the runs that wait, with their reasons"},
                                     {"n", "only the nodes"},
                                     {"up, down", "scroll such a list; also Page Up and Page Down"},
                                     {"Esc", "show everything again"},
                                     {"?", "show or close this page"},
                                     {"Ctrl-Z", "stop this screen; 'fg' brings it back"}};
  return HelpLines(
      keys,
      {"CORES and MEMORY are those of the whole machine, DISK FREE is that of the file system of "
       "storage.root; '-' means that the node does not report them. USE is what the ranks of a run "
       "use together; '+2' in a title means that 2 more rows do not fit. One run: gpctl watch "
       "RUN."},
      rows, style);
}

// What is above every page.
std::vector<ScreenPart> PartsAbove(const FleetModel& model, const TextStyle& style) {
  std::vector<ScreenPart> parts = {FixedPart({Heading(model, style)}, 0)};
  if (!model.notice().empty()) {
    parts.push_back(
        FixedPart({ScreenLine("! " + OneSafeLine(model.notice(), style.utf8), Color::kYellow)}, 0));
  }
  return parts;
}

bool IsSection(FleetPage page) {
  return page == FleetPage::kRuns || page == FleetPage::kQueue || page == FleetPage::kNodes;
}

// The rows of a section.
int RowsOf(const FleetModel& model, FleetPage page) {
  if (page == FleetPage::kNodes) return model.nodes().nodes_size();
  return static_cast<int>(std::count_if(
      model.runs().begin(), model.runs().end(),
      [page](const v1::Run& run) { return IsWaiting(run) == (page == FleetPage::kQueue); }));
}

// The lines above the footer.
int BodyRows(const TextStyle& style) {
  constexpr int kFooterMin = 3;  // rows from which on there is a footer
  return style.height - (style.height >= kFooterMin ? 1 : 0);
}

std::vector<ScreenLine> BodyOf(const FleetModel& model, const FleetView& view, double now,
                               const TextStyle& style) {
  const int rows = BodyRows(style);
  std::vector<ScreenPart> parts = PartsAbove(model, style);
  if (view.page == FleetPage::kHelp) {
    parts.push_back({.least = 1, .most = rows, .rank = 1, .draw = [&](int share) {
                       return HelpPage(share, style);
                     }});
  } else if (IsSection(view.page)) {
    const auto table = LinesOf(TableOf(model, view.page, now, style));
    parts.push_back({.least = 1, .most = rows, .rank = 1, .draw = [&, table](int share) {
                       return Window(table, view.first, share, style.utf8);
                     }});
  } else {
    AddSection(model, FleetPage::kRuns, 1, 3, now, style, parts);
    AddSection(model, FleetPage::kQueue, 2, 1, now, style, parts);
    AddSection(model, FleetPage::kNodes, 3, 2, now, style, parts);
    if (!model.filled()) {
      parts.push_back(FixedPart({ScreenLine("asking the coordinator", Color::kGrey)}, 4));
    } else if (model.runs().empty()) {
      parts.push_back(FixedPart({ScreenLine("No run is running or waiting.", Color::kGrey)}, 4));
    }
    if (model.more_runs() > 0) {
      parts.push_back(FixedPart(
          {ScreenLine(fmt::format("{} more runs are not shown", model.more_runs()), Color::kGrey)},
          4));
    }
  }
  return Stacked(parts, rows);
}

}  // namespace

std::vector<ScreenLine> FleetDashboard(const FleetModel& model, const FleetView& view, double now,
                                       const TextStyle& style) {
  std::vector<ScreenLine> lines = BodyOf(model, view, now, style);
  if (BodyRows(style) < style.height) {
    std::vector<KeyHelp> keys = {
        {"q", "leave"}, {"?", "help"}, {"r", "runs"}, {"w", "waiting"}, {"n", "nodes"}};
    if (view.page != FleetPage::kAll) keys = {{"Esc", "all"}, {"q", "leave"}, {"?", "help"}};
    lines.push_back(ScreenFooter(keys, "", now, style));
  }
  for (ScreenLine& line : lines) line = line.Cut(style.width, style.utf8);
  return lines;
}

FleetScroll ScrollOf(const FleetModel& model, FleetPage page, const TextStyle& style) {
  if (!IsSection(page)) return {};
  const int rows = BodyRows(style) - static_cast<int>(PartsAbove(model, style).size());
  // Below the titles, and above the line that says how many rows follow.
  return {.last = LastFirst(RowsOf(model, page), rows), .page = std::max(rows - 2, 1)};
}

std::string FleetText(const FleetModel& model, double now, const TextStyle& style) {
  std::string text = FleetSums(model, style.width) + "\n";
  for (const FleetPage page : {FleetPage::kRuns, FleetPage::kQueue, FleetPage::kNodes}) {
    if (RowsOf(model, page) > 0) text += "\n" + TableOf(model, page, now, style);
  }
  if (model.more_runs() > 0)
    text += fmt::format("\n{} more runs are not shown\n", model.more_runs());
  return text;
}

}  // namespace gp::gpctl
