#include "daemon/state_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "lib/base/file_mode.h"
#include "lib/base/temporary_directory.h"

namespace gp::daemon {
namespace {

using ::testing::HasSubstr;

TEST(StateDirectory, IsMadeForItsUserAlone) {
  const TemporaryDirectory directory;
  const std::string state = directory.File("a/state");
  ASSERT_TRUE(PrepareStateDirectory(state, {"gp.db"}).ok());
  EXPECT_EQ(ModeOf(state), 0700u);
}

TEST(StateDirectory, WhatItHoldsIsClosedAndWhatIsNotGpsStaysAsItIs) {
  const TemporaryDirectory directory;
  const std::string state = directory.File("state");
  ASSERT_TRUE(MakeDirectories(state + "/runs/abc").ok());
  for (const char* file : {"gp.db", "gp.db-wal", "gp.db-shm", "runs/abc/points.log", "mine"}) {
    ASSERT_TRUE(WriteFileAtomically(JoinPath(state, file), "x", 0644).ok());
  }
  ASSERT_EQ(chmod(state.c_str(), 0775), 0);
  ASSERT_TRUE(PrepareStateDirectory(state, {"gp.db", "runs"}).ok());
  EXPECT_EQ(ModeOf(state), 0755u) << "nobody else can write there";
  for (const char* file : {"gp.db", "gp.db-wal", "gp.db-shm", "runs/abc/points.log"}) {
    EXPECT_EQ(ModeOf(JoinPath(state, file)), 0600u) << file;
  }
  EXPECT_EQ(ModeOf(state + "/runs/abc"), 0700u);
  EXPECT_EQ(ModeOf(state + "/mine"), 0644u);
}

TEST(StateDirectory, APlaceThatUsersShareIsRefusedInWords) {
  const TemporaryDirectory directory;
  ASSERT_EQ(chmod(directory.path().c_str(), 01777), 0);
  const Status status = PrepareStateDirectory(directory.path(), {"gp.db"});
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(status), HasSubstr("can be written by other users (mode 1777"));
  EXPECT_EQ(ModeOf(directory.path()), 01777u);
}

}  // namespace
}  // namespace gp::daemon
