#include "coordinator/notifications/event_log.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"
#include "coordinator/store/sqlite_store.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

std::vector<uint64_t> Numbers(const StatusOr<std::vector<StoredEvent>>& events) {
  std::vector<uint64_t> numbers;
  for (const StoredEvent& stored : events.value()) numbers.push_back(stored.sequence);
  return numbers;
}

using Sequences = std::vector<uint64_t>;

TEST(EventLog, ReadsWhatTheStoreHasWritten) {
  const TemporaryDirectory directory;
  const auto store = SqliteStore::Open(directory.path()).value();
  EventLog log = EventLog::Open(directory.path()).value();
  EXPECT_EQ(Numbers(log.Read(0, 100, 10)), Sequences{});
  ASSERT_TRUE(
      store->Append({SampleSubmit("a", "1"), SampleSubmit("b", "2"), SampleSubmit("c", "3")}).ok());
  EXPECT_EQ(Numbers(log.Read(0, 100, 10)), (Sequences{1, 2, 3}));
  EXPECT_EQ(Numbers(log.Read(1, 2, 10)), Sequences{2});
  EXPECT_EQ(Numbers(log.Read(0, 3, 2)), (Sequences{1, 2}));
  const Event queued{RunId("b"), At(2), "scheduler", "", RunQueued{"waits"}};
  ASSERT_TRUE(store->Append({queued, queued}).ok());
  EXPECT_EQ(Numbers(log.ReadRun(RunId("b"), 4)), (Sequences{2, 4}));
  EXPECT_EQ(log.Read(3, 4, 10)->front().event.run, RunId("b"));
}

TEST(EventLog, NeedsAStore) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(EventLog::Open(directory.path()).ok());
}

}  // namespace
}  // namespace gp::coordinator
