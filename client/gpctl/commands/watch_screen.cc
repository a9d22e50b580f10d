#include "client/gpctl/commands/watch_screen.h"

#include <fmt/format.h>

#include <utility>

#include "client/api/run_client.h"

namespace gp::gpctl {
namespace {

std::string OutcomeText(const StatusOr<v1::Run>& run, bool pause) {
  if (!run.ok()) return "! " + Message(run.status());
  if (!pause) return run->name() + " continues when it has slots";
  return run->state() == v1::RUN_STATE_PAUSED ? run->name() + " is paused"
                                              : run->name() + " saves its last step, then pauses";
}

}  // namespace

WatchScreen::~WatchScreen() { stop_.Request(); }

StatusOr<WatchEnd> WatchScreen::Follow(std::chrono::nanoseconds interval) {
  LiveScreen screen(session_.console());
  const auto by_user = session_.console().interruption.OnRequest([&screen] { screen.Wake(); });
  const auto by_end = feed_.OnEnd([&screen] { screen.Wake(); });
  while (true) {
    TakeAnswerOfCall();
    Draw(screen);
    if (!session_.console().out.good()) return WatchEnd::kUserLeft;
    for (const KeyPress& key : screen.WaitForKeys(interval)) {
      if (!Handle(key)) return WatchEnd::kUserLeft;
    }
    ASSIGN_OR_RETURN(const bool ended, feed_.WaitForEnd(std::chrono::nanoseconds(0)));
    if (ended) return WatchEnd::kRunEnded;
  }
}

void WatchScreen::Draw(LiveScreen& screen) {
  std::vector<ScreenLine> lines;
  feed_.Read([&](const RunModel& model) {
    lines = RunDashboard(model, view_, session_.Now(), session_.style());
  });
  screen.Draw(lines);
}

bool WatchScreen::Handle(const KeyPress& key) {
  if (question_ != Question::kNone) {
    Answer(IsLetter(key, 'y'));
    return true;
  }
  if (!call_.valid()) view_.message.clear();
  if (IsLetter(key, 'q')) return false;
  if (IsLetter(key, 'l')) ShowPage(DashboardPage::kLog);
  if (IsLetter(key, 'p')) Ask();
  if (IsLetter(key, 'z')) view_.span = NextSpan(view_.span);
  if (key == KeyPress{KeyPress::Kind::kCharacter, '?'}) ShowPage(DashboardPage::kHelp);
  if (key.kind == KeyPress::Kind::kEscape) view_.page = DashboardPage::kMain;
  return true;
}

// The page's own key closes it again.
void WatchScreen::ShowPage(DashboardPage page) {
  view_.page = view_.page == page ? DashboardPage::kMain : page;
}

void WatchScreen::Ask() {
  if (call_.valid()) return;
  feed_.Read([this](const RunModel& model) {
    const v1::Run& run = model.run();
    if (client::IsTerminal(run.state())) return;
    const bool paused = run.state() == v1::RUN_STATE_PAUSED;
    question_ = paused ? Question::kResume : Question::kPause;
    view_.message = paused ? fmt::format("Resume {}? y/N", run.name())
                           : fmt::format("Pause {}? It saves and frees its slots. y/N", run.name());
  });
}

void WatchScreen::Answer(bool yes) {
  const bool pause = std::exchange(question_, Question::kNone) == Question::kPause;
  view_.message.clear();
  if (!yes) return;
  if (client_ == nullptr) {
    // The screen has no place for its notices; RunFeed shows the same.
    auto client = session_.NewClient(stop_, [](const std::string& /*notice*/) {});
    if (!client.ok()) {
      view_.message = "! " + Message(client.status());
      return;
    }
    client_ = std::move(*client);
  }
  std::string run_id;
  feed_.Read([&](const RunModel& model) { run_id = model.run().run_id(); });
  view_.message = pause ? "pausing" : "resuming";
  call_ = std::async(std::launch::async, [this, pause, run_id] {
    return OutcomeText(pause ? client_->Pause(run_id) : client_->Resume(run_id), pause);
  });
}

void WatchScreen::TakeAnswerOfCall() {
  if (!call_.valid() || call_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    return;
  view_.message = call_.get();
}

}  // namespace gp::gpctl
