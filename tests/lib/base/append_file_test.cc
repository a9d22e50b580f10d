#include "base/append_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

TEST(AppendFile, GrowsByRecordsAndGoesOnWhereItEnded) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("log");
  {
    auto file = AppendFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE(file->Append("one\n").ok());
    EXPECT_TRUE(file->Append("two\n").ok());
    EXPECT_TRUE(file->Sync().ok());
    EXPECT_EQ(file->size_bytes(), 8u);
  }
  auto again = AppendFile::Open(path);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->Append("three\n").ok());
  EXPECT_EQ(*ReadFile(path), "one\ntwo\nthree\n");
}

TEST(AppendFile, WhatStandsBehindItsEndIsReplaced) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("log");
  ASSERT_TRUE(WriteFileAtomically(path, "whole|torn").ok());
  AppendFile file(path, FileDescriptor(open(path.c_str(), O_WRONLY | O_CLOEXEC)), 6);
  EXPECT_TRUE(file.Append("next|").ok());
  EXPECT_EQ(ReadFile(path)->substr(0, 11), "whole|next|");
}

// The file size limit simulates a disk that becomes full in the middle of a record.
TEST(AppendFile, ARecordThatDoesNotFitLeavesNothingBehind) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("log");
  auto file = AppendFile::Open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Append("one\n").ok());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto signal_before = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status failed = file->Append("longer than the limit\n");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, signal_before);
  EXPECT_FALSE(failed.ok());
  EXPECT_NE(Message(failed).find(path), std::string::npos) << failed;
  EXPECT_EQ(*ReadFile(path), "one\n");
  EXPECT_TRUE(file->Append("two\n").ok());
  EXPECT_EQ(*ReadFile(path), "one\ntwo\n");
}

// The seal against shrinking simulates a disk on which a file cannot even be truncated.
TEST(AppendFile, NothingFollowsARecordThatCouldNeitherBeWrittenNorCut) {
  FileDescriptor file(memfd_create("log", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_TRUE(file.valid());
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  const int fd = file.get();
  AppendFile log(path, std::move(file), 0);
  ASSERT_TRUE(log.Append("one\n").ok());
  ASSERT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto signal_before = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status failed = log.Append("longer than the limit\n");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, signal_before);
  EXPECT_NE(Message(failed).find("undo the failed write"), std::string::npos) << failed;
  EXPECT_FALSE(log.Append("2\n").ok()) << *ReadFile(path);
  EXPECT_EQ(log.size_bytes(), 4u);
}

TEST(AppendFile, RecordsAreTakenBack) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("log");
  auto file = AppendFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Append("one\n").ok());
  ASSERT_TRUE(file->Append("two and more\n").ok());
  ASSERT_TRUE(file->CutTo(4).ok());
  ASSERT_TRUE(file->Append("2\n").ok());
  EXPECT_EQ(*ReadFile(path), "one\n2\n");
}

TEST(AppendFile, AFullDeviceIsAnError) {
  auto full = AppendFile::Open("/dev/full");
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_FALSE(full->Append("text").ok());
  EXPECT_EQ(full->size_bytes(), 0u);
}

}  // namespace
}  // namespace gp
