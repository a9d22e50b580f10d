#include "worker/trainer/data_failure.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "worker/trainer/trainer_process.h"

namespace gp::engine {
namespace {

using contract::ExitCause;

TEST(DataFailure, AFailedReadIsTriedAgainAndAMissingFileSoughtElsewhere) {
  for (const bool begun : {false, true}) {
    for (const int error : {EIO, ESTALE, ETIMEDOUT, ENODEV, EHOSTUNREACH}) {
      EXPECT_EQ(CauseOfUnusableData(ErrnoStatus(error, "read", "x"), begun), ExitCause::kStorage);
    }
    EXPECT_EQ(CauseOfUnusableData(ErrnoStatus(ENOENT, "open", "x"), begun), ExitCause::kData);
    EXPECT_EQ(CauseOfUnusableData(ErrnoStatus(ENOTDIR, "open", "x"), begun), ExitCause::kData);
    EXPECT_EQ(CauseOfUnusableData(ErrnoStatus(EACCES, "open", "x"), begun), ExitCause::kData);
    EXPECT_EQ(CauseOfUnusableData(ErrnoStatus(EPERM, "open", "x"), begun), ExitCause::kData);
  }
}

TEST(DataFailure, WhatWasGoodAndIsNotAnyMoreHasChanged) {
  for (const Status& status : {InvalidArgument("it is empty"), DataLoss("it was cut short")}) {
    EXPECT_EQ(CauseOfUnusableData(status, /*begun=*/false), ExitCause::kConfig);
    EXPECT_EQ(CauseOfUnusableData(status, /*begun=*/true), ExitCause::kData);
  }
}

TEST(DataFailure, NamesTheFilesThatWereModifiedAfterTheCheckpoint) {
  const TemporaryDirectory directory;
  directory.Write("manifest.json", "{}");
  runspec::RunSpec spec;
  spec.data.text = {directory.Write("a.txt", "a"), directory.Write("b.txt", "b"),
                    directory.File("absent.txt")};
  const auto saved = std::filesystem::last_write_time(directory.File("manifest.json"));
  std::filesystem::last_write_time(directory.File("a.txt"), saved);
  std::filesystem::last_write_time(directory.File("b.txt"), saved + std::chrono::seconds(1));
  EXPECT_EQ(FilesModifiedSince(directory.File(""), spec),
            "; modified since: " + directory.File("b.txt"));
  std::filesystem::last_write_time(directory.File("b.txt"), saved);
  EXPECT_EQ(FilesModifiedSince(directory.File(""), spec), "");
}

}  // namespace
}  // namespace gp::engine
