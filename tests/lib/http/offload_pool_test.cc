#include "http/offload_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>

namespace gp::http {
namespace {

TEST(OffloadPool, DestroysTheWorkInTheLoopBeforeItCallsDone) {
  EventLoop loop;
  OffloadPool pool(loop, {});
  std::thread::id destroyed_by;
  std::shared_ptr<void> captured(nullptr,
                                 [&](void*) { destroyed_by = std::this_thread::get_id(); });
  std::thread::id seen_by_done;
  ASSERT_TRUE(pool.Submit([captured = std::move(captured)] {},
                          [&] {
                            seen_by_done = destroyed_by;
                            loop.Stop();
                          }));
  loop.Run();
  EXPECT_EQ(seen_by_done, std::this_thread::get_id());
}

TEST(OffloadPool, RefusesWhatWaitsBeyondItsLimit) {
  EventLoop loop;
  OffloadPool pool(loop, {.threads = 0, .waiting_max = 1});
  EXPECT_TRUE(pool.Submit([] {}, [] {}));
  EXPECT_FALSE(pool.Submit([] {}, [] {}));
}

}  // namespace
}  // namespace gp::http
