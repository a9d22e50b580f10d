// InputProbe: measures whether the server reads its input in time. As a client it keeps asking the
// server for its version. While the answer is late, agents' messages wait too, so an agent's
// silence does not mean that it is lost. Owned by the daemon; Unread may be called from any thread.
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
  // Call it before the server ends. Idempotent.
  void Stop();

  // How long input may have waited: the time since the newest answered call was sent, or since the
  // constructor. Normally about 0.2 s, the pause between two calls.
  std::chrono::nanoseconds Unread() const;

 private:
  void Loop(const std::stop_token& stop, const std::shared_ptr<grpc::Channel>& channel);
  void Ask(const std::stop_token& stop, v1::RunService::Stub& stub);
  void Pause(const std::stop_token& stop);
  void Answered(MonotonicTime asked);

  Clock& clock_;
  mutable Mutex mutex_;
  CondVar stopped_;
  MonotonicTime asked_ GUARDED_BY(mutex_);  // when the newest answered call was sent
  std::jthread thread_;
};

}  // namespace gp::coordinator
