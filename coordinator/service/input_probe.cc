#include "coordinator/service/input_probe.h"

#include <grpcpp/client_context.h>

#include "base/log.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {
namespace {

// Short compared with kStallLimit, but long enough that the probe costs almost nothing.
constexpr std::chrono::milliseconds kPause{200};

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void InputProbe::Start(std::shared_ptr<grpc::Channel> channel) {
  thread_ = std::jthread(
      [this, channel = std::move(channel)](const std::stop_token& stop) { Loop(stop, channel); });
}

void InputProbe::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

std::chrono::nanoseconds InputProbe::Unread() const {
  const MonotonicTime now = clock_.Now();
  MutexLock lock(mutex_);
  return now - asked_;
}

void InputProbe::Loop(const std::stop_token& stop, const std::shared_ptr<grpc::Channel>& channel) {
  const auto stub = v1::RunService::NewStub(channel);
  while (!stop.stop_requested()) {
    Ask(stop, *stub);
    Pause(stop);
  }
}

void InputProbe::Ask(const std::stop_token& stop, v1::RunService::Stub& stub) {
  grpc::ClientContext context;
  const std::stop_callback cancel(stop, [&] { context.TryCancel(); });
  v1::VersionResponse response;
  const MonotonicTime asked = clock_.Now();
  if (stub.Version(&context, {}, &response).ok()) Answered(asked);
}

void InputProbe::Pause(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    MutexLock lock(mutex_);
    stopped_.NotifyAll();
  });
  MutexLock lock(mutex_);
  if (!stop.stop_requested()) stopped_.WaitFor(mutex_, kPause);
}

void InputProbe::Answered(MonotonicTime asked) {
  const std::chrono::nanoseconds waited = clock_.Now() - asked;
  if (waited > kStallLimit) {
    LogWarning("the server is overloaded and reads input late; all lease timers restart",
               {{"seconds", Seconds(waited)}});
  }
  MutexLock lock(mutex_);
  asked_ = asked;
}

}  // namespace gp::coordinator
