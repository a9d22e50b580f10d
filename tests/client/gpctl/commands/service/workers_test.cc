// Goal: the output is right when nodes are taken out of use and brought back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class WorkersCommand : public ::testing::Test {
 protected:
  WorkersCommand() {
    gpctl_.environment["GPCTL_SERVER"] = service_.address();
    v1::Run run = MakeRun("tiny", "aaaaaaaa01", v1::RUN_STATE_RUNNING);
    run.set_reason("node node-a is drained");
    service_.AddRun(run);
    v1::Node node;
    node.set_node_id("n1");
    node.set_name("node-a");
    node.set_connected(true);
    node.set_busy_slots(2);
    for (int i = 0; i < 3; ++i) {
      v1::Slot& slot = *node.add_slots();
      slot.set_slot_id("cpu-" + std::to_string(i));
      slot.set_device("cpu");
      if (i < 2) slot.set_run_id("aaaaaaaa01");
    }
    service_.AddNode(node);
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(WorkersCommand, CordonAndUncordonSayHowTheNodeIsThen) {
  EXPECT_THAT(gpctl_.Run({"workers", "cordon", "node-a", "--reason", "new disk"}).out,
              StartsWith("node-a is cordoned: new disk (owner, "));
  const std::string listed = gpctl_.Run({"workers", "list"}).out;
  EXPECT_THAT(listed, HasSubstr("  cordoned\n"));
  EXPECT_THAT(listed, HasSubstr("node-a is cordoned: new disk (owner, "));
  EXPECT_EQ(gpctl_.Run({"workers", "uncordon", "node-a"}).out,
            "node-a is open: runs may be placed there.\n");
  const auto cordoned = gpctl_.Run({"workers", "cordon", "node-a", "-o", "json"});
  EXPECT_EQ(json::parse(cordoned.out)["state"], "cordoned");
  EXPECT_EQ(json::parse(cordoned.out)["cordon"]["drain"], false);
}

// All times that gpctl shows come from the coordinator's clock.
TEST_F(WorkersCommand, AMachineWhoseClockIsAnHourOffShowsTheSameAges) {
  using std::chrono::seconds;
  for (const seconds ahead : {seconds(0), seconds(3600), seconds(-3600)}) {
    FakeRunService service;
    service.SetClockAhead(ahead);
    const int64_t now =
        std::chrono::duration_cast<seconds>(service.now().time_since_epoch()).count();
    v1::Run run = MakeRun("tiny", "aaaaaaaa01", v1::RUN_STATE_RUNNING);
    run.mutable_submitted_at()->set_seconds(now - 9020);
    run.mutable_started_at()->set_seconds(now - 9020);
    service.AddRun(run);
    v1::Checkpoint checkpoint;
    checkpoint.mutable_sealed_at()->set_seconds(now - 9020);
    service.AddCheckpoint(checkpoint);
    v1::Node node;
    node.set_name("node-a");
    node.set_connected(true);
    node.mutable_last_heard_at()->set_seconds(now);
    service.AddNode(node);
    gpctl_.environment["GPCTL_SERVER"] = service.address();
    EXPECT_THAT(gpctl_.Run({"workers", "list"}).out, HasSubstr("connected"));
    EXPECT_THAT(gpctl_.Run({"list"}).out, HasSubstr(" 2h30m "));
    EXPECT_THAT(gpctl_.Run({"status", "tiny"}).out, HasSubstr("RUNNING  2h30m"));
    EXPECT_THAT(gpctl_.Run({"ckpt", "list", "tiny"}).out, HasSubstr("2h30m ago"));
  }
}

TEST_F(WorkersCommand, DrainTellsTheRunsAndReturnsWhenNothingRuns) {
  const auto drain = gpctl_.Run({"workers", "drain", "node-a", "--reason", "new disk"});
  EXPECT_EQ(drain.code, 0) << drain.err;
  EXPECT_THAT(drain.out, StartsWith("node-a is draining: new disk (owner, "));
  EXPECT_THAT(drain.out, HasSubstr("; 2 slots are busy\n"
                                   "  tiny (aaaaaaaa01) is running: node node-a is drained\n"
                                   "Nothing runs on node-a any more.   Open it again: "));
  EXPECT_THAT(drain.out, HasSubstr("workers uncordon node-a\n"));
  const json listed = json::parse(gpctl_.Run({"workers", "list", "-o", "json"}).out);
  EXPECT_EQ(listed["items"][0]["state"], "drained");
}

TEST_F(WorkersCommand, DrainWithJsonPrintsOneDocument) {
  const auto drain = gpctl_.Run({"workers", "drain", "node-a", "-o", "json"});
  EXPECT_EQ(drain.code, 0) << drain.err;
  EXPECT_EQ(json::parse(drain.out)["kind"], "Node");
  EXPECT_EQ(json::parse(drain.out)["state"], "drained");
}

TEST_F(WorkersCommand, DrainThatTakesTooLongHasAnExitCodeOfItsOwn) {
  const auto drain = gpctl_.Run({"workers", "drain", "node-a", "--longest", "1ms"});
  EXPECT_EQ(drain.code, 6);
  // The fake frees a slot at each request; on a busy machine the time may end before the first one.
  EXPECT_THAT(drain.err, ContainsRegex("(1 slot is|2 slots are) busy on node node-a after 1ms"));
  EXPECT_THAT(drain.err, HasSubstr("nothing new is placed there"));
}

TEST_F(WorkersCommand, CtrlCEndsTheWaitAndNotTheDrain) {
  gpctl_.interrupt_when_out_contains = "is draining";
  const auto drain = gpctl_.Run({"workers", "drain", "node-a"});
  EXPECT_EQ(drain.code, 130);
  EXPECT_THAT(drain.err, StartsWith("The drain of node-a continues.   See: "));
  EXPECT_THAT(gpctl_.Run({"workers", "list"}).out, HasSubstr("node-a is dra"));
}

TEST_F(WorkersCommand, ANodeThatNobodyKnowsIsNotFound) {
  for (const char* verb : {"cordon", "drain", "uncordon"}) {
    const auto outcome = gpctl_.Run({"workers", verb, "node-b"});
    EXPECT_EQ(outcome.code, 3) << verb;
    EXPECT_THAT(outcome.err, HasSubstr("node 'node-b' does not exist"));
  }
}

}  // namespace
}  // namespace gp::testing
