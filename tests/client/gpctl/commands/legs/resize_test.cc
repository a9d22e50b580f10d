// Goal: resize says how many ranks the run gets and has, and repeats the service's refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;

class ResizeCommand : public ::testing::Test {
 protected:
  ResizeCommand() {
    gpctl_.environment["GPCTL_SERVER"] = service_.address();
    service_.AddRun(MakeRun("tiny", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(ResizeCommand, SaysHowManyRanksTheRunGets) {
  const Outcome resized = gpctl_.Run({"resize", "tiny", "--workers", "3"});
  EXPECT_EQ(resized.code, 0) << resized.err;
  EXPECT_THAT(resized.out, HasSubstr("tiny (aaaaaaaa01) gets 3 ranks; it has "));
  EXPECT_THAT(gpctl_.Run({"resize", "tiny", "--workers", "3", "-o", "json"}).out,
              HasSubstr("\"kind\":\"Run\""));
}

TEST_F(ResizeCommand, RepeatsWhyTheServiceRefuses) {
  const Outcome refused = gpctl_.Run({"resize", "tiny", "--workers", "5"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("it has at most 4 ranks; fork"));
  EXPECT_NE(gpctl_.Run({"resize", "tiny"}).code, 0) << "the number is missing";
}

}  // namespace
}  // namespace gp::testing
