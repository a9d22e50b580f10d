#include "worker/agent/load/storage_space.h"

#include <gtest/gtest.h>

#include <future>
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
  std::promise<void> read_twice;
  const StorageSpace space("/no/such/directory", std::chrono::milliseconds(1),
                           [&, readings = 0](const std::string& path) mutable {
                             if (++readings == 2) read_twice.set_value();
                             return ReadDiskSpace(path);
                           });
  read_twice.get_future().wait();
  EXPECT_FALSE(space.Newest().has_value());
}

TEST(StorageSpace, TheReaderIsNotCalledOnceTheDestructorReturned) {
  int readings = 0;
  {
    const StorageSpace space(::testing::TempDir(), std::chrono::milliseconds(10),
                             [&](const std::string& path) {
                               ++readings;
                               return ReadDiskSpace(path);
                             });
    while (!space.Newest()) std::this_thread::yield();
  }
  EXPECT_GT(readings, 0);  // a race with the thread is a finding of the sanitizers
}

TEST(StorageSpace, TheDestructorDoesNotWaitForAReadingThatHangs) {
  std::promise<void> hang;
  std::promise<void> left;
  {
    const StorageSpace space(
        ::testing::TempDir(), std::chrono::minutes(1),
        [until = hang.get_future().share(), &left](const std::string&) -> std::optional<DiskSpace> {
          until.wait();
          left.set_value();
          return std::nullopt;
        });
  }
  hang.set_value();
  left.get_future().wait();
}

}  // namespace
}  // namespace gp::agent
