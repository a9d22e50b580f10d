// Goal: lineage shows the runs that are connected with the named one, and no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class LineageCommand : public ::testing::Test {
 protected:
  LineageCommand() {
    gpctl_.environment["GPCTL_SERVER"] = service_.address();
    service_.AddRun(MakeRun("base", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED));
    service_.AddRun(Child("tuned", "bbbbbbbb02", "aaaaaaaa01"));
    service_.AddRun(Child("deeper", "cccccccc03", "bbbbbbbb02"));
    service_.AddRun(MakeRun("other", "dddddddd04", v1::RUN_STATE_SUCCEEDED));
  }

  static v1::Run Child(const std::string& name, const std::string& id, const std::string& parent) {
    v1::Run run = MakeRun(name, id, v1::RUN_STATE_SUCCEEDED);
    run.mutable_parent()->set_run_id(parent);
    run.mutable_parent()->set_leg(1);
    run.mutable_parent()->set_step(15);
    return run;
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(LineageCommand, ShowsAncestorsAndDescendants) {
  const Outcome shown = gpctl_.Run({"lineage", "tuned"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, StartsWith("base (aaaaaaaa01)"));
  EXPECT_THAT(shown.out, HasSubstr("tuned (bbbbbbbb02) *"));
  EXPECT_THAT(shown.out, HasSubstr("deeper (cccccccc03)"));
  EXPECT_THAT(shown.out, ::testing::Not(HasSubstr("other")));
}

TEST_F(LineageCommand, JsonListsTheRunsWithTheirParents) {
  const Outcome shown = gpctl_.Run({"lineage", "deeper", "-o", "json"});
  EXPECT_THAT(shown.out, HasSubstr("\"kind\": \"Lineage\""));
  EXPECT_THAT(shown.out, HasSubstr("\"root\": \"aaaaaaaa01\""));
  EXPECT_EQ(gpctl_.Run({"lineage", "nobody"}).code, 3);
}

}  // namespace
}  // namespace gp::testing
