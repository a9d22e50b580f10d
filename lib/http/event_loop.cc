#include "http/event_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace gp::http {
namespace {

namespace asio = boost::asio;

// The part of a timer that the loop may still hold after the timer is destroyed.
struct Alarm {
  Alarm(asio::io_context& context, std::chrono::nanoseconds first, std::function<void()> what)
      : timer(context, first), call(std::move(what)) {}

  asio::steady_timer timer;
  std::function<void()> call;
  std::chrono::nanoseconds period{0};  // 0: once
  bool off = false;
};

void Arm(const std::shared_ptr<Alarm>& alarm) {
  alarm->timer.async_wait([alarm](const boost::system::error_code& error) {
    if (error || alarm->off) return;
    alarm->call();
    if (alarm->off || alarm->period.count() == 0) return;
    alarm->timer.expires_after(alarm->period);
    Arm(alarm);
  });
}

class AsioTimer : public Timer {
 public:
  explicit AsioTimer(std::shared_ptr<Alarm> alarm) : alarm_(std::move(alarm)) { Arm(alarm_); }
  ~AsioTimer() override {
    alarm_->off = true;
    alarm_->timer.cancel();
  }

 private:
  const std::shared_ptr<Alarm> alarm_;
};

}  // namespace

struct EventLoop::State {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
};

EventLoop::EventLoop() : state_(std::make_unique<State>()) {}
EventLoop::~EventLoop() = default;

void EventLoop::Run() { state_->context.run(); }
void EventLoop::Stop() { state_->context.stop(); }
void EventLoop::Post(std::function<void()> call) { asio::post(state_->context, std::move(call)); }

std::unique_ptr<Timer> EventLoop::After(std::chrono::nanoseconds delay,
                                        std::function<void()> call) {
  return std::make_unique<AsioTimer>(
      std::make_shared<Alarm>(state_->context, delay, std::move(call)));
}

std::unique_ptr<Timer> EventLoop::Every(std::chrono::nanoseconds period,
                                        std::function<void()> call) {
  auto alarm = std::make_shared<Alarm>(state_->context, period, std::move(call));
  alarm->period = period;
  return std::make_unique<AsioTimer>(std::move(alarm));
}

boost::asio::io_context& EventLoop::context() { return state_->context; }

}  // namespace gp::http
