#include "worker/engine/trainer/supervisor_link.h"

#include <unistd.h>

#include <type_traits>
#include <utility>
#include <variant>

#include "base/log.h"
#include "worker/engine/trainer/exit_code.h"

namespace gp::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A stopping main thread ends between two micro-batches; one that does not within this time is
// ended.
constexpr std::chrono::seconds kStopGrace{5};
constexpr milliseconds kReadSlice{200};
constexpr size_t kInboxCapacity = 64;

}  // namespace

SupervisorLink::SupervisorLink(link::Channel& channel)
    : channel_(channel), inbox_(kInboxCapacity), reader_([this] { Read(); }) {}

SupervisorLink::~SupervisorLink() {
  closing_ = true;
  channel_.Shutdown();
}

std::optional<link::Message> SupervisorLink::Next() {
  while (!stop_.stop_requested()) {
    if (auto message = inbox_.Receive(kReadSlice)) return message;
  }
  return std::nullopt;
}

std::optional<link::SealResult> SupervisorLink::WaitForSeal(int64_t step) {
  MutexLock lock(mutex_);
  while (!stop_.stop_requested()) {
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

void SupervisorLink::RequestStop(const std::string& reason) {
  MutexLock lock(mutex_);
  stop_reason_ = reason;
  stop_.request_stop();
  if (group_ != nullptr) group_->Abort(reason);
  changed_.NotifyAll();
}

bool SupervisorLink::StopsWithin(std::chrono::nanoseconds patience) {
  const auto deadline = steady_clock::now() + patience;
  MutexLock lock(mutex_);
  while (!stop_.stop_requested() && changed_.WaitUntil(mutex_, deadline)) {
  }
  return stop_.stop_requested();
}

void SupervisorLink::AttachGroup(Communicator& communicator) {
  MutexLock lock(mutex_);
  group_ = &communicator;
  if (stop_.stop_requested()) group_->Abort(stop_reason_);
}

void SupervisorLink::ReleaseGroup() {
  MutexLock lock(mutex_);
  group_ = nullptr;
}

bool SupervisorLink::StopOverdue() const {
  return stop_deadline_ && steady_clock::now() >= *stop_deadline_;
}

void SupervisorLink::Read() {
  while (!closing_) {
    auto message = channel_.Receive(kReadSlice);
    if (closing_) return;
    if (!message.ok()) {
      LogError("link lost, exiting", {{"reason", Message(message.status())}});
      _exit(ProcessStatus(ExitCode::kFailure));
    }
    if (*message) Handle(std::move(**message));
    if (stop_.stop_requested() && !stop_deadline_) {
      stop_deadline_ = steady_clock::now() + kStopGrace;
    }
    if (StopOverdue()) {
      LogWarning("stopping took too long, exiting");
      _exit(ProcessStatus(ExitCode::kOk));
    }
  }
}

void SupervisorLink::Handle(link::Message message) {
  if (const auto* stop = std::get_if<link::Stop>(&message)) {
    LogInfo("stop requested", {{"reason", stop->reason}});
    RequestStop(stop->reason);
  } else if (const auto* fence = std::get_if<link::Fence>(&message)) {
    ExitFenced(fence->epoch);
  } else if (const auto* seal = std::get_if<link::SealResult>(&message)) {
    NoteSeal(*seal);
  } else if (!inbox_.TryPost(message)) {
    LogWarning("link message dropped: more are waiting than any supervisor sends");
  }
}

void SupervisorLink::ExitFenced(uint64_t epoch) {
  const int64_t step = committed_step_;
  LogInfo("fenced, exiting", {{"epoch", epoch}, {"step", step}});
  Send(link::Fenced{.epoch = epoch, .committed_step = step, .prepared_step = step});
  _exit(ProcessStatus(ExitCode::kFenced));
}

}  // namespace gp::engine
