#include "http/event_loop.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace gp::http {
namespace {

using std::chrono::milliseconds;

TEST(EventLoop, CallsInTheOrderOfTheirPosts) {
  EventLoop loop;
  std::string order;
  loop.Post([&] {
    loop.Post([&] {
      order += "c";
      loop.Stop();
    });
    order += "a";
  });
  loop.Post([&] { order += "b"; });
  loop.Run();
  EXPECT_EQ(order, "abc");
}

TEST(EventLoop, AnotherThreadMayPost) {
  EventLoop loop;
  const auto own = std::this_thread::get_id();
  std::thread::id called_on;
  std::thread other([&] {
    loop.Post([&] {
      called_on = std::this_thread::get_id();
      loop.Stop();
    });
  });
  loop.Run();
  other.join();
  EXPECT_EQ(called_on, own);
}

TEST(EventLoop, ATimerCallsOnceOrAgainAndAgain) {
  EventLoop loop;
  int once = 0, again = 0;
  const auto first = loop.After(milliseconds(0), [&] { ++once; });
  const auto second = loop.Every(milliseconds(1), [&] {
    if (++again == 3) loop.Stop();
  });
  loop.Run();
  EXPECT_EQ(once, 1);
  EXPECT_EQ(again, 3);
}

TEST(EventLoop, ATimerThatIsDestroyedIsCalledOff) {
  EventLoop loop;
  bool called = false;
  auto timer = loop.After(milliseconds(0), [&] { called = true; });
  timer.reset();
  const auto end = loop.After(milliseconds(1), [&] { loop.Stop(); });
  loop.Run();
  EXPECT_FALSE(called);
}

TEST(EventLoop, ATimerMayDestroyItselfInItsCall) {
  EventLoop loop;
  int calls = 0;
  std::unique_ptr<Timer> timer;
  timer = loop.Every(milliseconds(0), [&] {
    ++calls;
    timer.reset();
  });
  const auto end = loop.After(milliseconds(5), [&] { loop.Stop(); });
  loop.Run();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace gp::http
