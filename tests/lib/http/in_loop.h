// Calls from a test's thread into an event loop that another thread runs.
#pragma once

#include <chrono>
#include <ctime>
#include <future>
#include <memory>
#include <type_traits>

#include "http/event_loop.h"

namespace gp::http {

// Runs `call` in the loop, waits for it, and returns its result.
template <typename Call>
auto InLoop(EventLoop& loop, Call call) {
  // Shared, because the loop may still be inside set_value when the waiting thread continues.
  const auto result = std::make_shared<std::promise<decltype(call())>>();
  loop.Post([result, &call] {
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      result->set_value();
    } else {
      result->set_value(call());
    }
  });
  return result->get_future().get();
}

// The processor time that the loop's thread uses while `call` runs here. Unlike elapsed time, it
// does not depend on the machine's load.
template <typename Call>
std::chrono::nanoseconds LoopTimeOf(EventLoop& loop, Call call) {
  const auto now = [&loop] {
    return InLoop(loop, [] {
      timespec time{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
    });
  };
  const auto before = now();
  call();
  return now() - before;
}

}  // namespace gp::http
