#include "worker/agent/load/storage_space.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace gp::agent {
namespace {

TEST(StorageSpace, OffersTheNewestReading) {
  const StorageSpace space(::testing::TempDir(), std::chrono::minutes(1));
  while (!space.Newest()) std::this_thread::yield();
  EXPECT_GT(space.Newest()->total_bytes, 0u);
  EXPECT_LE(space.Newest()->free_bytes, space.Newest()->total_bytes);
}

TEST(StorageSpace, IsUnknownForAFileSystemWithoutASize) {
  std::promise<void> read_twice;
  const StorageSpace space(::testing::TempDir(), std::chrono::milliseconds(1),
                           [&, readings = 0](const std::string&) mutable {
                             if (++readings == 2) read_twice.set_value();
                             return StatusOr<FileSystemSpace>(FileSystemSpace{});
                           });
  read_twice.get_future().wait();
  EXPECT_FALSE(space.Newest().has_value());
}

TEST(StorageSpace, IsUnknownWhenItCannotBeRead) {
  std::promise<void> read_twice;
  const StorageSpace space("/no/such/directory", std::chrono::milliseconds(1),
                           [&, readings = 0](const std::string& path) mutable {
                             if (++readings == 2) read_twice.set_value();
                             return SpaceAt(path);
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
                               return SpaceAt(path);
                             });
    while (!space.Newest()) std::this_thread::yield();
  }
  EXPECT_GT(readings, 0);  // a race with the thread is a finding of the sanitizers
}

TEST(StorageSpace, TheDestructorDoesNotWaitForAReadingThatHangs) {
  std::promise<void> hang;
  std::promise<void> left;
  {
    const StorageSpace space(::testing::TempDir(), std::chrono::minutes(1),
                             [until = hang.get_future().share(),
                              &left](const std::string&) -> StatusOr<FileSystemSpace> {
                               until.wait();
                               left.set_value();
                               return FileSystemSpace{};
                             });
  }
  hang.set_value();
  left.get_future().wait();
}

}  // namespace
}  // namespace gp::agent
