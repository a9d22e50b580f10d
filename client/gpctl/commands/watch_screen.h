// WatchScreen: the live screen of one run with its keys. Used by gpctl's main thread.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "client/gpctl/screen/run_dashboard.h"
#include "client/gpctl/session/run_feed.h"
#include "client/gpctl/session/session.h"
#include "client/gpctl/terminal/live_screen.h"

namespace gp::gpctl {

enum class WatchEnd { kRunEnded, kUserLeft };

class WatchScreen {
 public:
  // Both must outlive this object. REQUIRES: LiveScreen::IsAvailable(session.console()).
  WatchScreen(RunFeed& feed, Session& session) : feed_(feed), session_(session) {}
  ~WatchScreen();

  // Shows the run until it has ended or the user leaves. Errors as RunFeed::WaitForEnd. The
  // terminal is as before when this returns.
  StatusOr<WatchEnd> Follow(std::chrono::nanoseconds interval);

 private:
  // What the user is asked to confirm.
  enum class Question { kNone, kPause, kResume };

  // False when the user leaves.
  bool Handle(const KeyPress& key);
  void ShowPage(DashboardPage page);
  void Ask();
  void Answer(bool yes);
  void TakeAnswerOfCall();
  void Draw(LiveScreen& screen);

  RunFeed& feed_;
  Session& session_;
  DashboardView view_;
  Question question_ = Question::kNone;
  client::Interruption stop_;  // interrupts call_
  std::unique_ptr<client::RunClient> client_;
  std::future<std::string> call_;  // valid while a call is in flight; gives the text for the user
};

}  // namespace gp::gpctl
