// gpctl plot: curves of runs in the terminal, or as an SVG or PNG file.
#include <algorithm>
#include <memory>

#include "base/file.h"
#include "base/text/counted_noun.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/results/run_charts.h"
#include "client/gpctl/plot/svg_chart.h"
#include "client/gpctl/plot/terminal_chart.h"
#include "client/gpctl/service/program_run.h"
#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/hint.h"

namespace gp::gpctl {
namespace {

constexpr size_t kRunsMax = 2 * kCurveColorCount;  // solid and dotted
constexpr int kPictureWidth = 900;                 // pixels of the curves; each shows two extremes
constexpr int kPipedColumns = 80;
constexpr int kPipedRows = 20;  // of a panel
constexpr int kPanelRowsLeast = 8;
constexpr int kPanelRowsMost = 40;

struct PlotOptions {
  std::vector<std::string> runs;
  std::string x = "steps";
  std::vector<std::string> y = {"loss+val_loss"};
  int smooth = 1;
  bool log = false;
  std::string file;
  std::string theme = "light";
};

AxisKind XOf(const PlotOptions& options) {
  if (options.x == "tokens") return AxisKind::kTokens;
  return options.x == "time" ? AxisKind::kTime : AxisKind::kSteps;
}

bool IsPng(const std::string& file) { return file.ends_with(".png"); }

Status CheckFile(const PlotOptions& options, const Console& console) {
  const std::string& file = options.file;
  if (file.empty()) return OkStatus();
  if (!file.ends_with(".svg") && !IsPng(file)) {
    return InvalidArgument(
        "-o {}: expected a file name that ends in .svg or .png; 'gpctl metrics RUN --format csv' "
        "prints the numbers",
        file);
  }
  if (!IsPng(file) || !FoundOnPath(console, "rsvg-convert").empty()) return OkStatus();
  return FailedPrecondition(
      "-o {}: PNG is made by rsvg-convert, and there is no such program on $PATH; install it "
      "('sudo apt install librsvg2-bin'), or write an SVG: -o {}.svg",
      file, file.substr(0, file.size() - 4));
}

std::string TitleOf(const std::vector<NamedRun>& runs) {
  if (runs.size() > 3) return CountedNoun(static_cast<int64_t>(runs.size()), "run");
  std::string title;
  for (size_t i = 0; i < runs.size(); ++i) {
    title += (i == 0 ? "" : i + 1 == runs.size() ? " and " : ", ") + runs[i].label;
  }
  return title;
}

std::string SubtitleOf(const PlotOptions& options) {
  std::string text;
  if (options.smooth > 1) text = fmt::format("mean of {} steps", options.smooth);
  if (options.log) text += std::string(text.empty() ? "" : ", ") + "logarithmic y axis";
  return text;
}

StatusOr<std::string> PngOf(const std::string& svg, Console& console) {
  ASSIGN_OR_RETURN(const FileDescriptor file, FileInMemory(svg, "rsvg-convert"));
  // Two pixels of the PNG for one of the SVG: sharp on a screen of high density.
  const ProgramRun run{.program = FoundOnPath(console, "rsvg-convert"),
                       .arguments = {"--format", "png", "--zoom", "2", kFirstDescriptorPath},
                       .descriptors = {file.get()}};
  std::string png;
  ASSIGN_OR_RETURN(const int code, RunProgram(run, console.interruption,
                                              [&png](const std::string& piece) { png += piece; }));
  if (code != 0) return Internal("rsvg-convert ended with code {}", code);
  return png;
}

StatusOr<ExitCode> WritePicture(const PlotOptions& options, const std::vector<NamedRun>& runs,
                                RunCharts charts, Session& session) {
  Console& console = session.console();
  const SvgPicture picture{.title = TitleOf(runs),
                           .subtitle = SubtitleOf(options),
                           .panels = std::move(charts.panels),
                           .notes = std::move(charts.notes)};
  std::string bytes = SvgText(picture, options.theme == "dark" ? kDarkTheme : kLightTheme);
  if (IsPng(options.file)) {
    ASSIGN_OR_RETURN(bytes, PngOf(bytes, console));
  }
  const std::string path = AbsolutePath(options.file, console.working_directory);
  RETURN_IF_ERROR(WriteFileAtomically(path, bytes));
  for (const std::string& note : picture.notes) console.err << "note: " << note << "\n";
  console.PrintChange(fmt::format("wrote {}\n", options.file));
  return ExitCode::kOk;
}

// The most curves of a panel that have a name.
int NamedCurves(const std::vector<Chart>& panels) {
  int64_t most = 0;
  for (const Chart& panel : panels) {
    most = std::max(most, std::count_if(panel.curves.begin(), panel.curves.end(),
                                        [](const Curve& curve) { return !curve.label.empty(); }));
  }
  return static_cast<int>(most);
}

// The size of each panel, with room for `others` more lines and the next prompt. Every name has its
// line, even if the panel is then higher than the terminal.
ChartSize PanelSize(const std::vector<Chart>& panels, int others, const Console& console) {
  const int names = NamedCurves(panels);
  if (!console.out_is_terminal) return {kPipedColumns, kPipedRows + std::max(names - 8, 0)};
  const TerminalSize size = console.Size();
  const int room = size.rows - others - 1;
  const int least = std::max(std::min(kPanelRowsLeast, room), 1) + std::max(names - 2, 0);
  return {size.columns, std::clamp(room / static_cast<int>(panels.size()), least,
                                   std::max(least, kPanelRowsMost))};
}

StatusOr<ExitCode> Draw(const PlotOptions& options, const RunCharts& charts, Session& session) {
  const Console& console = session.console();
  std::vector<std::string> others = charts.notes;
  const std::string subtitle = SubtitleOf(options);
  if (!subtitle.empty()) others.insert(others.begin(), subtitle);
  const ChartSize size = PanelSize(charts.panels, static_cast<int>(others.size()), console);
  const ChartStyle style{.utf8 = session.utf8(), .color = console.Animated()};
  for (const Chart& panel : charts.panels) {
    for (const std::string& line : DrawChart(panel, size, style)) console.out << line << "\n";
  }
  for (const std::string& line : others) {
    console.out << Wrapped(OneSafeLine(line, style.utf8), size.columns, 2) << "\n";
  }
  return ExitCode::kOk;
}

StatusOr<ExitCode> Plot(const PlotOptions& options, Session& session) {
  RETURN_IF_ERROR(CheckFile(options, session.console()));
  if (options.runs.size() > kRunsMax) {
    return InvalidArgument("{} runs; expected at most {}, because more curves look alike",
                           options.runs.size(), kRunsMax);
  }
  ASSIGN_OR_RETURN(const std::vector<NamedRun> runs, FindRuns(options.runs, session));
  ChartRequest request{.x = XOf(options), .smooth = options.smooth, .log = options.log};
  ASSIGN_OR_RETURN(request.panels, ParsePanels(options.y, runs));
  request.points_max =
      2 * (options.file.empty() ? std::clamp(2 * session.console().Size().columns, 80, 2000)
                                : kPictureWidth);
  ASSIGN_OR_RETURN(RunCharts charts, FetchCharts(runs, request, session));
  return options.file.empty() ? Draw(options, charts, session)
                              : WritePicture(options, runs, std::move(charts), session);
}

}  // namespace

void AddPlotCommand(CommandSet& commands) {
  const Command command = commands.AddWriter(
      "plot", kRunGroup, "Draw curves of runs, in the terminal or into an SVG or PNG file");
  auto options = std::make_shared<PlotOptions>();
  command.Option("RUN", options->runs, "names, ids, unique prefixes of ids, or @last").Required();
  command.Option("--x", options->x, "steps, tokens, or time since the first step (steps)")
      .OneOf({"steps", "tokens", "time"});
  command
      .Option("--y", options->y,
              "a panel for each: loss, val_loss, lr, grad_norm, tokens_per_second, mfu, "
              "step_seconds, a score; '+' puts several into one panel (loss+val_loss)")
      .Delimiter(',')
      .OneValueEach();
  command
      .Option("--smooth", options->smooth,
              "smooth: mean of this many steps; the single steps are drawn faintly, evaluations "
              "are not smoothed")
      .Between(1, 1'000'000);
  command.Switch("--log", options->log, "logarithmic y axis");
  command.Option("-o,--output", options->file, "file to write: NAME.svg, or NAME.png").Path();
  command.Option("--theme", options->theme, "light or dark, for a file (light)")
      .OneOf({"light", "dark"});
  commands.Bind(command, [options](Session& session) { return Plot(*options, session); });
}

}  // namespace gp::gpctl
