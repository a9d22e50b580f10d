#include "daemon/engine_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace gp::daemon {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(EngineEnvironment, HoldsWhatIsListedAndNoSecretOfTheDaemon) {
  setenv("GP_TOKEN", "secret", 1);
  setenv("GP_ISA_MAX", "avx2", 1);
  setenv("GP_TEST_MORE", "more", 1);
  unsetenv("GP_TEST_ABSENT");
  const auto environment = EngineEnvironment({"GP_TEST_MORE", "GP_TEST_ABSENT"});
  EXPECT_THAT(environment, Contains("GP_ISA_MAX=avx2"));
  EXPECT_THAT(environment, Contains("GP_TEST_MORE=more"));
  EXPECT_THAT(environment, Not(Contains(HasSubstr("secret"))));
  EXPECT_THAT(environment, Not(Contains(HasSubstr("ABSENT"))));
}

}  // namespace
}  // namespace gp::daemon
