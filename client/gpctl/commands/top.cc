// gpctl top.
#include "client/gpctl/commands/top.h"

#include <algorithm>
#include <memory>

#include "base/duration.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/screen/fleet_dashboard.h"
#include "client/gpctl/session/fleet_feed.h"
#include "client/gpctl/terminal/live_screen.h"

namespace gp::gpctl {
namespace {

constexpr std::chrono::milliseconds kQuestionsMin{200};

std::string FleetJson(const FleetModel& model) {
  Json document = Document("Fleet");
  document["nodes"] = Json::array();
  for (const v1::Node& node : model.nodes().nodes()) document["nodes"].push_back(NodeFields(node));
  document["runs"] = Json::array();
  for (const v1::Run& run : model.runs()) document["runs"].push_back(RunFields(run));
  document["truncated"] = model.more_runs() > 0;
  return Pretty(document);
}

StatusOr<ExitCode> PrintFleet(Session& session) {
  ASSIGN_OR_RETURN(const FleetModel model, FleetFeed::Read(session));
  session.console().out << (session.json() ? FleetJson(model)
                                           : FleetText(model, session.Now(), session.style()));
  return ExitCode::kOk;
}

void OpenPage(FleetPage page, FleetView& view) {
  view = {.page = view.page == page ? FleetPage::kAll : page};
}

void Scroll(const KeyPress& key, const FleetScroll& scroll, FleetView& view) {
  switch (key.kind) {
    case KeyPress::Kind::kUp:
      view.first -= 1;
      break;
    case KeyPress::Kind::kDown:
      view.first += 1;
      break;
    case KeyPress::Kind::kPageUp:
      view.first -= scroll.page;
      break;
    case KeyPress::Kind::kPageDown:
      view.first += scroll.page;
      break;
    case KeyPress::Kind::kHome:
      view.first = 0;
      break;
    case KeyPress::Kind::kEnd:
      view.first = scroll.last;
      break;
    default:
      break;
  }
  view.first = std::clamp(view.first, 0, scroll.last);
}

// False when the user leaves.
bool Handle(const KeyPress& key, const FleetScroll& scroll, FleetView& view) {
  if (IsLetter(key, 'q')) return false;
  if (IsLetter(key, 'r')) OpenPage(FleetPage::kRuns, view);
  if (IsLetter(key, 'w')) OpenPage(FleetPage::kQueue, view);
  if (IsLetter(key, 'n')) OpenPage(FleetPage::kNodes, view);
  if (key == KeyPress{KeyPress::Kind::kCharacter, '?'}) OpenPage(FleetPage::kHelp, view);
  if (key.kind == KeyPress::Kind::kEscape) view = {};
  Scroll(key, scroll, view);
  return true;
}

Status FollowFleet(std::chrono::nanoseconds interval, Session& session) {
  Console& console = session.console();
  LiveScreen screen(console);
  const auto by_user = console.interruption.OnRequest([&screen] { screen.Wake(); });
  ASSIGN_OR_RETURN(const auto feed, FleetFeed::Open(
                                        interval, [&screen] { screen.Wake(); }, session));
  FleetView view;
  while (!console.interruption.requested() && console.out.good()) {
    std::vector<ScreenLine> lines;
    feed->Read([&](const FleetModel& model) {
      // The screen may have grown, and runs may have ended.
      view.first = std::min(view.first, ScrollOf(model, view.page, session.style()).last);
      lines = FleetDashboard(model, view, session.Now(), session.style());
    });
    screen.Draw(lines);
    // The time at the bottom shows each second that the screen is alive.
    for (const KeyPress& key : screen.WaitForKeys(std::chrono::seconds(1))) {
      FleetScroll scroll;  // of the page to which the keys before have led
      feed->Read(
          [&](const FleetModel& model) { scroll = ScrollOf(model, view.page, session.style()); });
      if (!Handle(key, scroll, view)) return OkStatus();
    }
    RETURN_IF_ERROR(feed->status());
  }
  return console.interruption.requested() ? Cancelled("interrupted") : OkStatus();
}

}  // namespace

StatusOr<ExitCode> ShowFleet(const TopOptions& options, Session& session) {
  std::chrono::nanoseconds interval = std::chrono::seconds(2);
  if (!options.interval.empty()) {
    ASSIGN_OR_RETURN(interval, ParseDuration(options.interval));
    interval = std::max<std::chrono::nanoseconds>(interval, kQuestionsMin);
  }
  if (options.once || session.json() || !LiveScreen::IsAvailable(session.console())) {
    return PrintFleet(session);
  }
  const Status status = FollowFleet(interval, session);
  // Ctrl-C is a way to leave: without a message, with its usual exit code.
  if (session.console().interruption.requested()) return ExitCode::kInterrupted;
  RETURN_IF_ERROR(status);
  return ExitCode::kOk;
}

void AddTopCommand(CommandSet& commands) {
  const Command command = commands.Add(
      "top", kRunGroup,
      "Follow the fleet live: running runs, waiting runs and why, nodes and their load");
  auto options = std::make_shared<TopOptions>();
  command.Switch("--once", options->once, "print the tables once instead of a live screen");
  command.Option("--interval", options->interval, "time between requests to the coordinator (2s)");
  commands.Bind(command, [options](Session& session) { return ShowFleet(*options, session); });
}

}  // namespace gp::gpctl
