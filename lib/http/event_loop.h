// EventLoop: one thread for connections, timers and, in the gateway, samplers. The caller of Run is
// that thread; it owns everything it serves and blocks only in the loop itself. Post and Stop may
// be called from any thread, everything else from the loop's.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace gp::http {

// A pending call. Destroying the timer cancels the call.
class Timer {
 public:
  virtual ~Timer() = default;
};

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Serves until Stop.
  void Run();
  void Stop();

  // Runs `call` in the loop, after the current handler.
  void Post(std::function<void()> call);

  // Runs `call` once after `delay`, unless the timer is destroyed before.
  [[nodiscard]] std::unique_ptr<Timer> After(std::chrono::nanoseconds delay,
                                             std::function<void()> call);
  // Runs `call` after each `period` until the timer is destroyed.
  [[nodiscard]] std::unique_ptr<Timer> Every(std::chrono::nanoseconds period,
                                             std::function<void()> call);

  // For code that reads and writes sockets.
  boost::asio::io_context& context();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace gp::http
