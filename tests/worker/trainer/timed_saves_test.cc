#include "worker/trainer/timed_saves.h"

#include <gtest/gtest.h>

#include <atomic>

#include "formats/checkpoint_directory.h"
#include "storage/local_storage.h"
#include "worker/trainer/standalone_training.h"
#include "worker/trainer/trainer_process.h"

namespace gp::engine {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr MonotonicTime kStart{std::chrono::hours(5)};

TEST(TimedSaves, ComeEveryTenMinutes) {
  TimedSaves saves(kStart);
  EXPECT_FALSE(saves.IsDue(kStart + seconds(599), seconds(0)));
  EXPECT_TRUE(saves.IsDue(kStart + minutes(10), seconds(0)));
  saves.Began(kStart + minutes(11));
  EXPECT_FALSE(saves.IsDue(kStart + minutes(20), seconds(0)));
  EXPECT_TRUE(saves.IsDue(kStart + minutes(21), seconds(0)));
}

TEST(TimedSaves, TakeAtMostAFiftiethOfTheTime) {
  const TimedSaves saves(kStart);
  EXPECT_TRUE(saves.IsDue(kStart + minutes(10), seconds(12)));
  EXPECT_FALSE(saves.IsDue(kStart + minutes(10), seconds(13)));
  EXPECT_FALSE(saves.IsDue(kStart + minutes(49), minutes(1)));
  EXPECT_TRUE(saves.IsDue(kStart + minutes(50), minutes(1)));
}

// A clock that advances by half a minute at each reading.
class HastyClock final : public Clock {
 public:
  MonotonicTime Now() const override { return kStart + std::chrono::seconds(30) * ++looks_; }
  WallTime WallNow() const override { return SystemClock().WallNow(); }

 private:
  mutable std::atomic<int> looks_ = 0;
};

// Case runs-and-service/52: by default, nothing was saved before the end of the run.
TEST(TimedSaves, ARunFileThatSaysNothingSavesByTime) {
  const TemporaryDirectory directory;
  const std::string text = directory.Write("text.txt", TinyText());
  const std::string run = directory.Write("run.yaml", TinyRunFile(text, 16, 0));
  const std::vector<std::pair<std::string, bool>> settings = {{"auto", true}, {"0", false}};
  for (const auto& [every, by_time] : settings) {
    const std::string out = directory.File("out-" + every);
    const StandaloneOptions options{
        .spec_path = run, .overrides = {"checkpoint.every=" + every}, .out_directory = out};
    ASSERT_EQ(RunStandalone(options, HastyClock()), 0);
    const auto found = formats::FindCheckpoints(LocalStorage(), JoinPath(out, "checkpoints"));
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->size() > 1, by_time) << every << ": " << found->size();
  }
}

}  // namespace
}  // namespace gp::engine
