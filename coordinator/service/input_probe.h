// InputProbe: proves that the server reads what comes in. It asks the server for its version, again
// and again, as a client would: while the answer is late, what the agents say waits to be read,
// too, and says nothing about the agents. Owned by the daemon; Unread may be called from any
// thread.
#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "gp/v1/run_service.grpc.pb.h"

namespace gp::coordinator {

class InputProbe {
 public:
  explicit InputProbe(Clock& clock) : clock_(clock), asked_(clock.Now()) {}
  ~InputProbe() { Stop(); }

  // Called once. `channel` leads to the server.
  void Start(std::shared_ptr<grpc::Channel> channel);
  // Before the server ends. Idempotent.
  void Stop();

  // What came in may have waited for so long: the time since the newest question that was answered.
  std::chrono::nanoseconds Unread() const;

 private:
  void Loop(const std::stop_token& stop, const std::shared_ptr<grpc::Channel>& channel);
  void Ask(const std::stop_token& stop, v1::RunService::Stub& stub);
  void Pause(const std::stop_token& stop);
  void Answered(MonotonicTime asked);

  Clock& clock_;
  mutable Mutex mutex_;
  CondVar stopped_;
  MonotonicTime asked_ GUARDED_BY(mutex_);  // the newest question that was answered
  std::jthread thread_;
};

}  // namespace gp::coordinator
