#include "daemon/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace gp::daemon {
namespace {

TEST(AllowManyOpenFiles, RaisesTheLimitToWhatTheUserMayHave) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{256, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  AllowManyOpenFiles();
  rlimit after{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace gp::daemon
