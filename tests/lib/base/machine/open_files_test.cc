#include "base/machine/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace gp {
namespace {

TEST(AllowManyOpenFiles, RaisesTheLimitToWhatTheUserMayHave) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{256, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_TRUE(AllowManyOpenFiles().ok());
  rlimit after{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(AllowManyOpenFiles, TooFewAreRefusedInWords) {
  const auto refused = [] {
    const rlimit few{24, 24};
    setrlimit(RLIMIT_NOFILE, &few);
    const Status status = AllowManyOpenFiles();
    std::cerr << Message(status);
    std::_Exit(status.code() == StatusCode::kResourceExhausted ? 0 : 1);
  };
  EXPECT_EXIT(refused(), ::testing::ExitedWithCode(0),
              "may have 24 files open, but needs at least 64; raise the limit");
}

}  // namespace
}  // namespace gp
