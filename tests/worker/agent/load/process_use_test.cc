#include "worker/agent/load/process_use.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random_id.h"

namespace gp::agent {
namespace {

class ProcessUseTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeDirectories(JoinPath(proc_, "7")).ok()); }
  void TearDown() override { ASSERT_TRUE(RemoveTree(proc_).ok()); }

  // The file proc_pid_stat(5) of process 7.
  void Write(int user_ticks, int system_ticks, int pages) {
    ASSERT_TRUE(WriteFileAtomically(
                    JoinPath(proc_, "7/stat"),
                    fmt::format("7 (a) (b c) S 1 7 7 0 -1 4194560 1 0 0 0 {} {} 0 0 20 0 4 0 99 "
                                "1000000 {} 18446744073709551615 0 0\n",
                                user_ticks, system_ticks, pages))
                    .ok());
  }

  const std::string proc_ = ::testing::TempDir() + "gp-proc-" + RandomId(8);
  const int ticks_ = static_cast<int>(sysconf(_SC_CLK_TCK));
  ProcessUse use_{proc_};
  MonotonicTime now_{std::chrono::hours(1)};
};

TEST_F(ProcessUseTest, CountsBusyCoresSinceTheMeasurementBefore) {
  Write(100 * ticks_, 10 * ticks_, 5);
  EXPECT_FALSE(use_.Measure(7, now_).has_value()) << "since when is not known";
  Write(112 * ticks_, 13 * ticks_, 6);
  now_ += std::chrono::seconds(10);
  const auto use = use_.Measure(7, now_);
  ASSERT_TRUE(use.has_value());
  EXPECT_EQ(use->cores(), 1.5);
  EXPECT_EQ(use->memory_bytes(), 6 * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
}

TEST_F(ProcessUseTest, AnotherProcessWithTheNumberBeginsAnew) {
  Write(ticks_, 0, 5);
  use_.Measure(7, now_);
  use_.KeepOnly({8});
  now_ += std::chrono::seconds(10);
  Write(2 * ticks_, 0, 5);
  EXPECT_FALSE(use_.Measure(7, now_).has_value());
}

TEST_F(ProcessUseTest, IsUnknownWhenTheFileIsGoneOrCutOff) {
  EXPECT_FALSE(use_.Measure(9, now_).has_value());
  for (const char* text : {"", "7 (a", "7 (a) S 1 2 3"}) {
    ASSERT_TRUE(WriteFileAtomically(JoinPath(proc_, "7/stat"), text).ok());
    EXPECT_FALSE(use_.Measure(7, now_).has_value()) << text;
    now_ += std::chrono::seconds(10);
    EXPECT_FALSE(use_.Measure(7, now_).has_value()) << text;
  }
}

TEST(ProcessUse, MeasuresThisProcess) {
  ProcessUse use;
  MonotonicTime now{std::chrono::hours(1)};
  use.Measure(getpid(), now);
  const auto measured = use.Measure(getpid(), now + std::chrono::seconds(1));
  ASSERT_TRUE(measured.has_value());
  EXPECT_GT(measured->memory_bytes(), 1u << 20);
}

}  // namespace
}  // namespace gp::agent
