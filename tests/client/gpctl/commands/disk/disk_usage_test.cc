#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DiskUsageCommand : public ::testing::Test {
 protected:
  DiskUsageCommand() {
    gpctl_.environment["GPCTL_SERVER"] = service_.address();
    Add("large", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED, uint64_t{2} << 30);
    Add("small", "aaaaaaaa02", v1::RUN_STATE_RUNNING, uint64_t{1} << 20);
    usage_.set_storage_bytes(uint64_t{100} << 30);
    usage_.set_free_storage_bytes(uint64_t{50} << 30);
    service_.storage().SetUsage(usage_);
  }

  void Add(const std::string& name, const std::string& id, v1::RunState state, uint64_t bytes) {
    service_.AddRun(MakeRun(name, id, state));
    v1::RunDiskUsage& one = *usage_.add_runs();
    one.set_run_id(id);
    one.set_run_name(name);
    one.set_state(state);
    one.set_checkpoint_bytes(bytes);
    one.set_other_bytes(1024);
    one.set_checkpoints(4);
  }

  v1::DiskUsageResponse usage_;
  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(DiskUsageCommand, ShowsEachRunAndTheFileSystem) {
  const Outcome shown = gpctl_.Run({"du"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("large"));
  EXPECT_THAT(shown.out, HasSubstr("succeeded"));
  EXPECT_THAT(shown.out, HasSubstr("2.0 GiB"));
  EXPECT_THAT(shown.out, HasSubstr("2.0 GiB in 2 runs; 50.0 GiB free of 100.0 GiB"));
  EXPECT_EQ(shown.err, "") << "there is room";
}

TEST_F(DiskUsageCommand, ShowsOneRun) {
  const Outcome shown = gpctl_.Run({"du", "small"});
  EXPECT_THAT(shown.out, HasSubstr("small"));
  EXPECT_THAT(shown.out, Not(HasSubstr("large")));
  EXPECT_EQ(gpctl_.Run({"du", "nobody"}).code, 3);
}

TEST_F(DiskUsageCommand, ShowsADeletedRunWhoseCheckpointsWereKept) {
  v1::RunDiskUsage& one = *usage_.add_runs();  // the fake lists no such run
  one.set_run_id("aaaaaaaa03");
  one.set_run_name("gone");
  one.set_checkpoint_bytes(uint64_t{3} << 20);
  one.set_checkpoints(2);
  service_.storage().SetUsage(usage_);
  const Outcome shown = gpctl_.Run({"du", "aaaaaaaa03"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("deleted"));
  EXPECT_THAT(shown.out, HasSubstr("3.0 MiB in 1 run"));
}

TEST_F(DiskUsageCommand, SaysWhatToDoWhenLittleIsLeft) {
  usage_.set_free_storage_bytes(uint64_t{5} << 30);
  service_.storage().SetUsage(usage_);
  const Outcome shown = gpctl_.Run({"du"});
  EXPECT_THAT(shown.err, HasSubstr("ckpt prune aaaaaaaa01"));
  EXPECT_THAT(shown.err, HasSubstr("delete aaaaaaaa01"));
}

TEST_F(DiskUsageCommand, NamesNoPruneThatWouldRemoveNothing) {
  usage_.set_free_storage_bytes(uint64_t{5} << 30);
  usage_.mutable_runs(0)->set_state(v1::RUN_STATE_UNSPECIFIED);  // deleted
  usage_.mutable_runs(1)->set_pinned(2);
  service_.storage().SetUsage(usage_);
  EXPECT_THAT(gpctl_.Run({"du"}).err, Not(HasSubstr("ckpt prune")));
}

TEST_F(DiskUsageCommand, AsJson) {
  const Outcome shown = gpctl_.Run({"du", "-o", "json"});
  EXPECT_THAT(shown.out, HasSubstr("\"kind\": \"DiskUsage\""));
  EXPECT_THAT(shown.out, HasSubstr("\"checkpoint_bytes\": 2147483648"));
  EXPECT_THAT(shown.out, HasSubstr("\"free_storage_bytes\": 53687091200"));
}

}  // namespace
}  // namespace gp::testing
