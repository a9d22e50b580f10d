#include "worker/trainer/supervisor_link.h"

#include <unistd.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/machine/progress.h"
#include "worker/trainer/exit_code.h"

namespace gp::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// When a step is broken off, the main thread stops between two micro-batches. After this time the
// process ends without it.
constexpr std::chrono::seconds kStopGrace{5};
constexpr milliseconds kReadSlice{200};
constexpr milliseconds kBeatInterval{100};
// The reading thread did not run for the rest of a longer pause: the process was stopped, or the
// machine was.
constexpr milliseconds kRunningMax{500};
constexpr size_t kInboxCapacity = 64;
constexpr const char* kAnotherGroup = "the coordinator has formed another group";

std::optional<milliseconds> Milliseconds(std::optional<int64_t> count) {
  return count ? std::optional(milliseconds(*count)) : std::nullopt;
}

}  // namespace

SupervisorLink::SupervisorLink(link::Channel& channel)
    : channel_(channel), inbox_(kInboxCapacity), reader_([this] { Read(); }) {}

SupervisorLink::~SupervisorLink() {
  closing_ = true;
  channel_.Shutdown();
}

std::optional<link::Message> SupervisorLink::Next() {
  const progress::Awaiting waiting(progress::Wait::kSupervisor);
  while (leaving() == Leaving::kNo) {
    if (auto message = inbox_.Receive(kReadSlice)) return message;
  }
  return std::nullopt;
}

std::optional<link::SealResult> SupervisorLink::WaitForSeal(int64_t step) {
  const progress::Awaiting waiting(progress::Wait::kSeal);
  MutexLock lock(mutex_);
  while (leaving() != Leaving::kAtOnce) {
    if (last_seal_ && last_seal_->step == step) return last_seal_;
    changed_.WaitFor(mutex_, kReadSlice);
  }
  return std::nullopt;
}

void SupervisorLink::NoteSeal(const link::SealResult& result) {
  if (!result.sealed) {
    LogWarning("checkpoint refused", {{"step", result.step}, {"reason", result.reason}});
  }
  MutexLock lock(mutex_);
  last_seal_ = result;
  changed_.NotifyAll();
}

void SupervisorLink::Send(const link::Message& message) {
  const Status status = channel_.Send(message);
  if (!status.ok()) LogWarning("link message lost", {{"reason", Message(status)}});
}

void SupervisorLink::RequestStop(StopAsker asker, const std::string& reason,
                                 std::optional<milliseconds> save_within) {
  MutexLock lock(mutex_);
  const auto now = steady_clock::now();
  const bool first = askers_.insert(asker).second;
  if (!first && asker == StopAsker::kSignal) return;
  if (stop_reason_.empty()) stop_reason_ = reason;
  if (save_within && first && takes_steps_ && leaving_ != Leaving::kAtOnce) {
    const bool alone = leaving_ == Leaving::kNo;
    leaving_ = Leaving::kSaving;
    break_off_at_ =
        alone ? now + *save_within / 2 : std::min(break_off_at_, now + *save_within / 2);
    leave_at_ = alone ? now + *save_within : std::min(leave_at_, now + *save_within);
  } else {
    LeaveAtOnce();
  }
  changed_.NotifyAll();
}

void SupervisorLink::LeaveAtOnce() {
  if (leaving_ == Leaving::kAtOnce) return;
  leaving_ = Leaving::kAtOnce;
  leave_at_ = steady_clock::now() + kStopGrace;
  BreakOff();
}

void SupervisorLink::BreakOff() {
  if (stop_.stop_requested()) return;
  stop_.request_stop();
  forming_.request_stop();
  if (group_ != nullptr) group_->Abort(stop_reason_);
}

std::string SupervisorLink::stop_reason() const {
  MutexLock lock(mutex_);
  return stop_reason_;
}

bool SupervisorLink::LeavesWithin(std::chrono::nanoseconds timeout, Leaving way) {
  const auto deadline = steady_clock::now() + timeout;
  MutexLock lock(mutex_);
  while (leaving() < way && changed_.WaitUntil(mutex_, deadline)) {
  }
  return leaving() >= way;
}

void SupervisorLink::AttachGroup(Communicator& communicator, uint64_t epoch) {
  MutexLock lock(mutex_);
  group_ = &communicator;
  if (stop_.stop_requested()) group_->Abort(stop_reason_);
  if (newest_epoch_ > epoch) group_->Abort(kAnotherGroup);
}

std::stop_token SupervisorLink::BeginForming(uint64_t epoch) {
  MutexLock lock(mutex_);
  forming_ = std::stop_source();
  if (stop_.stop_requested() || newest_epoch_ > epoch) forming_.request_stop();
  return forming_.get_token();
}

// The newest group is the only one in force.
void SupervisorLink::NoteConfigure(uint64_t epoch) {
  MutexLock lock(mutex_);
  if (epoch <= newest_epoch_) return;
  newest_epoch_ = epoch;
  forming_.request_stop();
  if (group_ != nullptr) group_->Abort(kAnotherGroup);
}

void SupervisorLink::ReleaseGroup() {
  MutexLock lock(mutex_);
  group_ = nullptr;
}

// The step in flight gets half of the time, and saving it the other half. After that nothing is
// saved.
void SupervisorLink::WatchTime() {
  const auto now = steady_clock::now();
  Leaving way = Leaving::kNo;
  {
    MutexLock lock(mutex_);
    way = leaving();
    if (way == Leaving::kNo) return;
    if (now >= break_off_at_) BreakOff();
    if (now < leave_at_) return;
  }
  if (way == Leaving::kSaving) {
    LogWarning("ran out of time to save");
    MutexLock lock(mutex_);
    LeaveAtOnce();
    return changed_.NotifyAll();
  }
  LogWarning("stopping took too long, exiting");
  Send(link::Stopped{.step = committed_step_, .reason = stop_reason()});
  _exit(ProcessStatus(ExitCode::kOk));
}

void SupervisorLink::Beat() {
  const auto now = steady_clock::now();
  const auto since = std::chrono::duration_cast<milliseconds>(now - beat_at_);
  if (since < kBeatInterval) return;
  beat_at_ = now;
  progress::AdvanceClock(std::min(since, kRunningMax));
  if (!beats_) return;
  const progress::Snapshot training = progress::Now();
  link::Beat beat{.phase = static_cast<int>(training.phase),
                  .count = training.count,
                  .waits_for = static_cast<int>(training.wait),
                  .peer = training.peer};
  if (training.longest_ms >= 0) beat.longest_ms = training.longest_ms;
  Send(beat);
}

void SupervisorLink::Read() {
  beat_at_ = steady_clock::now();
  while (!closing_) {
    auto message = channel_.Receive(kBeatInterval);
    if (closing_) return;
    Beat();
    if (!message.ok()) {
      LogError("link lost, exiting", {{"reason", Message(message.status())}});
      _exit(ProcessStatus(ExitCode::kFailure));
    }
    if (*message) Handle(std::move(**message));
    WatchTime();
  }
}

void SupervisorLink::Handle(link::Message message) {
  if (const auto* configure = std::get_if<link::Configure>(&message)) {
    NoteConfigure(configure->epoch);
  }
  if (const auto* stop = std::get_if<link::Stop>(&message)) {
    LogInfo("stop requested",
            {{"reason", stop->reason}, {"save_within_ms", stop->save_within_ms.value_or(0)}});
    RequestStop(StopAsker::kSupervisor, stop->reason, Milliseconds(stop->save_within_ms));
  } else if (const auto* seal = std::get_if<link::SealResult>(&message)) {
    NoteSeal(*seal);
  } else if (!inbox_.TryPost(message)) {
    LogWarning("link message dropped: the inbox is full");
  }
}

}  // namespace gp::engine
