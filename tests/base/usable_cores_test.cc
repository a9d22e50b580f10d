#include "base/usable_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace gp {
namespace {

TEST(UsableCores, AreThoseThatTheThreadIsAllowed) {
  const auto cores = UsableCores();
  ASSERT_TRUE(cores.ok()) << cores.status();
  ASSERT_FALSE(cores->empty());
  EXPECT_EQ(CountUsableCores(), std::ssize(*cores));
  std::jthread([last = cores->back()] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(*UsableCores(), std::vector<int>{last});
    EXPECT_EQ(CountUsableCores(), 1);
  });
}

}  // namespace
}  // namespace gp
