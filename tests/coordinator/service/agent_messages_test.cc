// Goal: every field of an agent's hello is read, and the answer contains the configuration.
#include "coordinator/service/agent_messages.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "contract/agent_protocol.h"
#include "coordinator/service/agent_limits.h"
#include "coordinator/store/sample_events.h"
#include "proto/every_field.h"

namespace gp::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SetEveryField;
using testing::UnsetFields;

AgentServiceOptions Options() {
  return {.group_key = GroupKey(GroupKey::Bytes{1}),
          .version = "0.1.0",
          .storage_root = "/storage",
          .storage_probe = "probe",
          .generation = 5,
          .report_interval = std::chrono::milliseconds(1500),
          .lease = std::chrono::milliseconds(10250)};
}

v1::AgentHello FullHello() {
  v1::AgentHello hello;
  SetEveryField(hello);
  hello.set_protocol(contract::kAgentProtocol);
  hello.set_protocol_min(contract::kAgentProtocolMin);
  hello.set_storage_root("/storage/");
  hello.set_storage_probe("probe");
  hello.set_coordinator_generation_max(5);
  return hello;
}

TEST(AgentMessages, AHelloIsHeardFieldByField) {
  const v1::AgentHello hello = FullHello();
  // Fails to compile when a member is added: then fill it in FullHello and check it here.
  const auto& [node, session, name, incarnation, version, slots, data_address, storage_problem,
               ranks, gpu_driver, gpu_problem, data_roots] = ToConnected(hello, 9, Options());
  EXPECT_EQ(node.value(), hello.node_id());
  EXPECT_EQ(session, 9u);
  EXPECT_EQ(name, hello.name());
  EXPECT_EQ(incarnation, hello.incarnation());
  EXPECT_EQ(version, hello.version());
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(slots[1].id.value(), hello.slots(1).slot_id());
  EXPECT_EQ(data_address, hello.data_address());
  EXPECT_EQ(storage_problem, "");
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[1].run.value(), hello.ranks(1).run_id());
  EXPECT_EQ(gpu_driver, hello.gpu_driver());
  EXPECT_EQ(gpu_problem, hello.gpu_problem());
  ASSERT_TRUE(data_roots.has_value());
  EXPECT_THAT(*data_roots, ::testing::ElementsAreArray(hello.data_roots().paths()));
}

TEST(AgentMessages, ANodeWithoutANameIsCalledByItsId) {
  v1::AgentHello hello = FullHello();
  hello.clear_name();
  EXPECT_EQ(ToConnected(hello, 1, Options()).name, hello.node_id());
}

TEST(AgentMessages, TheStorageMustBeTheSameDirectoryUnderTheSameName) {
  const auto problem = [](const std::string& root, const std::string& probe) {
    v1::AgentHello hello = FullHello();
    hello.set_storage_root(root);
    hello.set_storage_probe(probe);
    return ToConnected(hello, 1, Options()).storage_problem;
  };
  EXPECT_EQ(problem("/storage", "probe"), "");
  EXPECT_THAT(problem("/other", "probe"), HasSubstr("its storage root is /other"));
  EXPECT_THAT(problem("/storage", ""), HasSubstr("cannot read /storage/.gp-probe"));
  EXPECT_THAT(problem("/storage", "another"), HasSubstr("another directory"));
}

TEST(AgentMessages, AnOlderStateIsRefusedAndAnEqualOneIsNot) {
  v1::AgentHello hello = FullHello();
  EXPECT_TRUE(CheckHello(hello, Options()).ok()) << CheckHello(hello, Options());
  hello.set_coordinator_generation_max(6);
  EXPECT_THAT(Message(CheckHello(hello, Options())), HasSubstr("stale"));
}

TEST(AgentMessages, AHelloWithoutANodeOrWithASlotTwiceIsRefused) {
  v1::AgentHello hello = FullHello();
  hello.mutable_slots(1)->set_slot_id(hello.slots(0).slot_id());
  EXPECT_THAT(Message(CheckHello(hello, Options())), HasSubstr("listed twice"));
  hello = FullHello();
  hello.clear_node_id();
  EXPECT_THAT(Message(CheckHello(hello, Options())), HasSubstr("no node id"));
}

TEST(AgentMessages, ProtocolsMustOverlap) {
  const auto accepted = [](int lowest, int highest) {
    v1::AgentHello hello = FullHello();
    hello.set_protocol_min(lowest);
    hello.set_protocol(highest);
    return CheckHello(hello, Options()).ok();
  };
  EXPECT_TRUE(accepted(contract::kAgentProtocol, contract::kAgentProtocol + 1));
  EXPECT_TRUE(accepted(contract::kAgentProtocolMin - 1, contract::kAgentProtocolMin));
  EXPECT_FALSE(accepted(contract::kAgentProtocol + 1, contract::kAgentProtocol + 1));
  EXPECT_FALSE(accepted(contract::kAgentProtocolMin - 1, contract::kAgentProtocolMin - 1));
}

TEST(AgentMessages, AWelcomePromisesWhatWasConfigured) {
  const v1::Welcome welcome = MakeWelcome(Options());
  EXPECT_THAT(UnsetFields(welcome), ElementsAre("telemetry_window_bytes"))
      << "the session says it: it depends on how many agents there are";
  EXPECT_EQ(welcome.protocol(), contract::kAgentProtocol);
  EXPECT_EQ(welcome.version(), "0.1.0");
  EXPECT_EQ(welcome.coordinator_generation(), 5u);
  EXPECT_EQ(welcome.report_interval().seconds(), 1);
  EXPECT_EQ(welcome.report_interval().nanos(), 500'000'000);
  EXPECT_EQ(welcome.lease().seconds(), 10);
  EXPECT_EQ(welcome.lease().nanos(), 250'000'000);
}

TEST(AgentMessages, AReportIsHeardFieldByField) {
  v1::AgentReport report;
  SetEveryField(report);
  const auto& [node, session, applied_revision, ranks, slot_problems, load, slot_use] =
      ToReported(report, NodeId("n"), 9);
  EXPECT_EQ(node, NodeId("n"));
  EXPECT_EQ(session, 9u);
  EXPECT_EQ(applied_revision, report.revision());
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0].run.value(), report.ranks(0).run_id());
  ASSERT_EQ(slot_problems.size(), 2u);
  for (const auto& [slot, problem] : report.slot_problems()) {
    EXPECT_EQ(slot_problems.at(SlotId(slot)), problem);
  }
  ASSERT_TRUE(load.has_value());
  EXPECT_EQ(load->runnable_threads, report.load().runnable_threads());
  EXPECT_EQ(load->cores, report.load().cores());
  EXPECT_EQ(load->swap_bytes_per_second, report.load().swap_bytes_per_second());
  EXPECT_EQ(load->busy_cores, report.load().busy_cores());
  EXPECT_EQ(load->memory_bytes, report.load().memory_bytes());
  EXPECT_EQ(load->available_memory_bytes, report.load().available_memory_bytes());
  EXPECT_EQ(load->storage_bytes, report.load().storage_bytes());
  EXPECT_EQ(load->free_storage_bytes, report.load().free_storage_bytes());
  ASSERT_EQ(slot_use.size(), static_cast<size_t>(report.slot_use_size()));
  for (const auto& [slot, use] : report.slot_use()) {
    EXPECT_EQ(slot_use.at(SlotId(slot)).cores, use.cores());
    EXPECT_EQ(slot_use.at(SlotId(slot)).memory_bytes, use.memory_bytes());
  }
}

TEST(AgentMessages, WhatAnOlderAgentDoesNotReportIsUnknown) {
  v1::AgentReport report;
  report.mutable_load()->set_cores(4);
  const NodeReported reported = ToReported(report, NodeId("n"), 9);
  ASSERT_TRUE(reported.load.has_value());
  EXPECT_EQ(reported.load->busy_cores, -1) << "not 0";
  EXPECT_TRUE(reported.slot_use.empty());
}

TEST(AgentMessages, LongProblemsAreCut) {
  const std::string text(2 * kTextBytesMax, 'p');
  v1::AgentHello hello = FullHello();
  hello.set_gpu_problem(text);
  EXPECT_EQ(ToConnected(hello, 1, Options()).gpu_problem.size(), kTextBytesMax);
  v1::AgentReport report;
  (*report.mutable_slot_problems())["gpu-0"] = text;
  EXPECT_EQ(ToReported(report, NodeId("n"), 1).slot_problems.at(SlotId("gpu-0")).size(),
            kTextBytesMax);
}

TEST(AgentMessages, ADesiredStateHasTheRevisionOfItsNode) {
  Cluster cluster;
  for (size_t i = 0; i < 3; ++i) ASSERT_TRUE(Apply(OneOfEachKind()[i], cluster).ok());
  const Node& node = *cluster.FindNode(NodeId("n"));
  const v1::DesiredState desired = ToDesired(cluster, node, Options());
  EXPECT_EQ(desired.coordinator_generation(), 5u);
  EXPECT_EQ(desired.revision(), 3u) << "of the event that placed the run";
  ASSERT_EQ(desired.assignments_size(), 2);
  EXPECT_EQ(desired.assignments(1).rank(), 1);
  EXPECT_EQ(desired.assignments(1).slot_id(), "s1");
}

TEST(AgentMessages, TelemetryIsSortedByRunAndNumberedInItsOrder) {
  Cluster cluster;
  for (size_t i = 0; i < 5; ++i) ASSERT_TRUE(Apply(OneOfEachKind()[i], cluster).ok());
  v1::Telemetry telemetry;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      first_sequence: 7
      items { run_id: "r" line { rank: 1 epoch: 2 text: "one" at { seconds: 3 nanos: 4000 } } }
      items { run_id: "unknown" line { text: "dropped" } }
      items { run_id: "r" point { step: 5 } }
      items { run_id: "r" line { rank: 1 epoch: 2 text: "two" } })",
                                                            &telemetry));
  const TelemetryBatch batch = ToBatch(telemetry, "agent", NodeId("n"), cluster);
  ASSERT_EQ(batch.points.size(), 1u);
  ASSERT_EQ(batch.lines.size(), 1u);
  EXPECT_EQ(batch.points.at(RunId("r")).at(0).step, 5);
  const std::vector<Line>& lines = batch.lines.at(RunId("r"));
  ASSERT_EQ(lines.size(), 2u);
  const auto& [sequence, at, rank, epoch, text, source, source_sequence] = lines[0];
  EXPECT_EQ(sequence, 0u) << "the run's log numbers its lines";
  EXPECT_EQ(at, At(3'000'004));
  EXPECT_EQ(rank, 1);
  EXPECT_EQ(epoch, 2u);
  EXPECT_EQ(text, "one");
  EXPECT_EQ(source, "agent");
  EXPECT_EQ(source_sequence, 7u);
  EXPECT_EQ(lines[1].source_sequence, 10u) << "dropped items have a number too";
}

// A run in epochs 1 and 2 on node n. Telemetry for it is taken from node n and dropped from node m.
TEST(AgentMessages, TelemetryOfARunThatIsNotOnTheNodeIsDropped) {
  Cluster cluster;
  for (size_t i = 0; i < 5; ++i) ASSERT_TRUE(Apply(OneOfEachKind()[i], cluster).ok());
  v1::Telemetry telemetry;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      first_sequence: 1
      items { run_id: "r" point { step: 5 epoch: 2 } }
      items { run_id: "r" point { step: 5 epoch: 1 } }
      items { run_id: "r" line { epoch: 2 text: "x" } })",
                                                            &telemetry));
  const TelemetryBatch foreign = ToBatch(telemetry, "agent", NodeId("m"), cluster);
  EXPECT_TRUE(foreign.points.empty());
  EXPECT_TRUE(foreign.lines.empty());
  EXPECT_EQ(ToBatch(telemetry, "agent", NodeId("n"), cluster).points.at(kSampleRun).size(), 2u);
  telemetry.mutable_items(0)->mutable_point()->set_epoch(3);
  EXPECT_EQ(ToBatch(telemetry, "agent", NodeId("n"), cluster).points.at(kSampleRun).size(), 1u)
      << "epoch 3 has not begun";
}

TEST(AgentMessages, AHelloBeyondTheLimitsIsRefused) {
  v1::AgentHello hello = FullHello();
  hello.set_name("\033[2J");
  EXPECT_THAT(Message(CheckHello(hello, Options())), HasSubstr("the node's name"));
  hello = FullHello();
  for (int i = 0; i <= kSlotsMax; ++i) hello.add_slots()->set_slot_id(std::to_string(i));
  EXPECT_THAT(Message(CheckHello(hello, Options())), HasSubstr("slots are too many"));
}

}  // namespace
}  // namespace gp::coordinator
