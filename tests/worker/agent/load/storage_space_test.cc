#include "worker/agent/load/storage_space.h"

#include <gtest/gtest.h>

#include <thread>

namespace gp::agent {
namespace {

TEST(StorageSpace, ReadsTheFileSystemOfADirectory) {
  const auto space = ReadDiskSpace(::testing::TempDir());
  ASSERT_TRUE(space.has_value());
  EXPECT_GT(space->bytes, 0u);
  EXPECT_LE(space->free_bytes, space->bytes);
  EXPECT_FALSE(ReadDiskSpace("/no/such/directory").has_value());
}

TEST(StorageSpace, OffersTheNewestReading) {
  const StorageSpace space(::testing::TempDir(), std::chrono::minutes(1));
  while (!space.Newest()) std::this_thread::yield();
  EXPECT_GT(space.Newest()->bytes, 0u);
}

TEST(StorageSpace, IsUnknownWhenItCannotBeRead) {
  const StorageSpace space("/no/such/directory", std::chrono::milliseconds(1));
  EXPECT_FALSE(space.Newest().has_value());
}

}  // namespace
}  // namespace gp::agent
