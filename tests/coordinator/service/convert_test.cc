// Goal: every field is converted into the right one. All values of a case differ, so swapped fields
// are detected. Add new fields here.
#include "coordinator/service/convert.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"
#include "proto/every_field.h"

namespace gp::coordinator {
namespace {

using google::protobuf::TextFormat;
using google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::SetEveryField;
using testing::UnsetFields;
using ProgressValue = Progress;
using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// The difference as text; empty if they are equal.
std::string DifferenceBetween(const google::protobuf::Message& expected,
                              const google::protobuf::Message& actual) {
  std::string difference;
  MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  differencer.Compare(expected, actual);
  return difference;
}

contract::TrainingPoint FullPoint() {
  contract::TrainingPoint point;
  point.step = 12;
  point.epoch = 3;
  point.tokens = 4096;
  point.loss = 4.5;
  point.learning_rate = 0.25;
  point.gradient_norm = 1.5;
  point.tokens_per_second = 1024.5;
  point.mfu = 0.5;
  point.step_seconds = 0.75;
  point.validation_loss = 7.5;
  point.at_us = At(8'000'009).time_since_epoch().count();
  point.phases.data_wait = 1.25;
  point.phases.forward = 2.25;
  point.phases.backward = 3.25;
  point.phases.allreduce_exposed = 4.25;
  point.phases.optimizer = 5.25;
  point.phases.other = 6.25;
  point.skipped = true;
  point.spike = true;
  point.target_steps = 2000;
  point.peak_flops = 9.5;
  point.peak_source = "measured";
  point.processor_wait = 0.125;
  point.warning = "look here";
  point.scores = {{"val_bpb", 2.5}};
  return point;
}

constexpr const char* kPhases = R"( phases {
    data_wait: 1.25 forward: 2.25 backward: 3.25 allreduce_exposed: 4.25 optimizer: 5.25
    other: 6.25 })";

SealedCheckpoint FullCheckpoint(int64_t step, double loss) {
  return {{.step = step,
           .directory = fmt::format("/storage/{}", step),
           .manifest_digest = fmt::format("digest-{}", step),
           .size_bytes = 77,
           .validation_loss = loss,
           .final = true,
           .end_reason = "stopped early"},
          4,
          At(5'000'006),
          2,
          /*retired=*/false,
          /*restored=*/false,
          /*restored_by_request=*/"",
          /*pinned=*/true};
}

// A run of two ranks on one node, with every member set.
RunValue FullRun() {
  Submission submission = SampleSubmission();
  submission.kind = v1::RUN_KIND_EVAL;
  submission.workers = 2;
  submission.logical_shards = 16;
  submission.resolved += "init_from: /models/gpt2\n";
  RunValue run;
  run.id = RunId("run-id");
  run.submission = std::make_shared<const Submission>(submission);
  run.state = RunState::kRunning;
  run.reason = "every rank is ready";
  run.submitted_by = "user ann";
  run.labels = {{"a", "b"}};
  run.note = "a lower rate";
  run.submitted_at = At(1'000'002);
  run.started_at = At(3'000'004);
  run.finished_at = At(5'000'006);
  run.epoch = 7;
  run.placement = {{0, NodeId("n"), SlotId("s0")}, {1, NodeId("n"), SlotId("s1")}};
  run.group = Group{{"h:1", "h:2"}, "nonce", true};
  run.go = true;
  run.holds_slots = true;
  run.pausing = true;
  run.resume_step = 20;
  run.passes_over = 12;
  run.ended_legs = {{{.number = 1,
                      .why_begun = "submitted",
                      .begun_at = At(1'000'002),
                      .why_ended = "trained to step 20",
                      .ended_at = At(2'000'003)},
                     run.submission}};
  run.leg = {.number = 2,
             .first_step = 20,
             .first_epoch = 3,
             .why_begun = "extended to 100 steps",
             .begun_at = At(3'000'004)};
  run.leg.engine.logical_shards = 16;
  run.leg.engine.threads_per_rank = 5;
  run.leg.engine.device = Device::kGpu;
  run.leg.engine.isa = "avx2";
  run.leg.engine.kernels = {{"avx2", "choices"}};
  run.failures = 6;
  run.checkpoints = {FullCheckpoint(10, 1.5), FullCheckpoint(20, 2.5)};
  return run;
}

Cluster ClusterWithNode() {
  Cluster cluster;
  Node node;
  node.id = NodeId("n");
  node.name = "node name";
  node.slot_use = {{SlotId("s0"), {.cores = 1.5, .memory_bytes = 3}},
                   {SlotId("s1"), {.cores = 2, .memory_bytes = 4}}};
  cluster.nodes[node.id] = std::make_shared<const Node>(node);
  return cluster;
}

TEST(Convert, APointOfAnAgentIsReadAndToldFieldByField) {
  v1::MetricPoint point;
  SetEveryField(point);
  EXPECT_EQ(DifferenceBetween(point, ToProto(FromProto(point))), "");
}

TEST(Convert, APointIsToldUnderItsNames) {
  const auto expected = Parse<v1::MetricPoint>(std::string(kPhases) + R"(
      step: 12 epoch: 3 tokens: 4096 loss: 4.5 learning_rate: 0.25 gradient_norm: 1.5
      tokens_per_second: 1024.5 mfu: 0.5 step_seconds: 0.75 validation_loss: 7.5
      at { seconds: 8 nanos: 9000 } skipped: true spike: true target_steps: 2000 peak_flops: 9.5
      peak_source: "measured" processor_wait: 0.125 warning: "look here" scores { name: "val_bpb" value: 2.5 })");
  const v1::MetricPoint point = ToProto(FullPoint());
  EXPECT_EQ(DifferenceBetween(expected, point), "");
  EXPECT_THAT(UnsetFields(point), IsEmpty());
}

TEST(Convert, ARunIsToldFieldByField) {
  ProgressValue progress;
  progress.newest = FullPoint();
  progress.validation_loss = 8.5;
  progress.validation_step = 11;
  progress.best_validation_loss = 1.5;
  progress.best_validation_step = 10;
  progress.warning = "the newest warning";
  progress.skipped_steps = 13;
  progress.skipped_spikes = 5;
  progress.scores = {{"val_bpb", {2.25, 11}}};
  progress.pace = Pace({.steps = 4,
                        .wall_seconds = 3.5,
                        .step_seconds = 3,
                        .tokens = 3073.5,
                        .flops_share = 1.5,
                        .phases = {5, 9, 13, 17, 21, 25},
                        .waited_share = 0.75,
                        .share_seconds = 3});
  const v1::Run run = ToProto(ClusterWithNode(), FullRun(), progress);
  const auto expected = Parse<v1::Run>(R"(
      run_id: "run-id" name: "tiny" kind: RUN_KIND_EVAL namespace: "team" priority: -3
      labels { key: "a" value: "b" } state: RUN_STATE_RUNNING reason: "every rank is ready"
      epoch: 7 failures: 6 submitted_at { seconds: 1 nanos: 2000 }
      started_at { seconds: 3 nanos: 4000 } finished_at { seconds: 5 nanos: 6000 }
      placement { rank: 0 node_id: "n" node_name: "node name" slot_id: "s0" }
      placement { rank: 1 node_id: "n" node_name: "node name" slot_id: "s1" }
      progress {
        step: 12 target_steps: 2000 tokens: 4096 target_tokens: 100000 loss: 4.5
        validation_loss: 8.5 validation_step: 11 tokens_per_second: 1024.5 mfu: 0.5
        step_seconds: 0.75 learning_rate: 0.25 gradient_norm: 1.5)" +
                                       std::string(kPhases) + R"(
        peak_flops: 9.5 peak_source: "measured" warning: "the newest warning" skipped_steps: 13
        skipped_spikes: 5
        processor_wait: 0.25 pace_seconds: 0.875 best_validation_loss: 1.5
        best_validation_step: 10 best_validation_checkpoint: "/storage/10"
        scores { name: "val_bpb" value: 2.25 step: 11 } }
      latest_checkpoint_step: 20 best_checkpoint_step: 10 run_directory: "/storage/runs/r"
      request_id: "request-1" workers: 2
      choices {
        threads_per_rank: 5 logical_shards: 16 isa: "avx2"
        kernels { key: "avx2" value: "choices" } }
      gradients_encrypted: true submitted_by: "user ann" device: "gpu"
      initial_model: "/models/gpt2" parent { run_id: "p" leg: 2 step: 50 tokens: 1600 } leg: 2
      leaving_for: "a user paused the run" note: "a lower rate" use { cores: 3.5 memory_bytes: 7 })");
  EXPECT_EQ(DifferenceBetween(expected, run), "");
  EXPECT_THAT(UnsetFields(run), ElementsAre("placement.rank", "progress.best_validation_superseded",
                                            "source", "resolved", "queue_position",
                                            "parent.run_name", "parent.deleted", "legs"))
      << "rank 0 is the default; the texts are told by Get alone; the parent is unknown here";
}

TEST(Convert, WhatARunUsesIsUnknownWhileThatOfARankIs) {
  Cluster cluster = ClusterWithNode();
  RunValue run = FullRun();
  EXPECT_TRUE(ToProto(cluster, run, {}).has_use());
  run.holds_slots = false;
  EXPECT_FALSE(ToProto(cluster, run, {}).has_use()) << "its ranks have left";
  run.holds_slots = true;
  Node node = *cluster.FindNode(NodeId("n"));
  node.slot_use.erase(SlotId("s1"));
  cluster.nodes[node.id] = std::make_shared<const Node>(node);
  EXPECT_FALSE(ToProto(cluster, run, {}).has_use());
}

TEST(Convert, LegsAreToldFieldByField) {
  v1::Run run;
  AddLegs(FullRun(), run);
  ASSERT_EQ(run.legs_size(), 2);
  EXPECT_EQ(DifferenceBetween(Parse<v1::Leg>(R"(
      number: 1 first_step: -1 why_begun: "submitted" begun_at { seconds: 1 nanos: 2000 }
      why_ended: "trained to step 20" ended_at { seconds: 2 nanos: 3000 }
      resolved: "name: tiny\nseed: 1\ninit_from: /models/gpt2\n" target_steps: 100)"),
                              run.legs(0)),
            "");
  EXPECT_THAT(UnsetFields(run.legs(0)), IsEmpty());
  EXPECT_EQ(run.legs(1).number(), 2);
  EXPECT_EQ(run.legs(1).first_step(), 20);
  EXPECT_FALSE(run.legs(1).has_ended_at());
}

TEST(Convert, TheTargetOfANewLegIsItsOwnUntilItsFirstPoint) {
  ProgressValue progress;
  progress.newest = FullPoint();  // of epoch 3
  RunValue run = FullRun();
  run.leg.first_epoch = 4;
  EXPECT_EQ(ToProto(ClusterWithNode(), run, progress).progress().target_steps(), 100);
}

TEST(Convert, ARunWithoutPointsOrCheckpointsSaysSo) {
  RunValue run = FullRun();
  run.checkpoints.clear();
  run.started_at.reset();
  run.finished_at.reset();
  const v1::Run told = ToProto(ClusterWithNode(), run, {});
  EXPECT_EQ(told.latest_checkpoint_step(), -1);
  EXPECT_EQ(told.best_checkpoint_step(), -1);
  EXPECT_FALSE(told.has_started_at());
  EXPECT_FALSE(told.has_finished_at());
  EXPECT_EQ(told.progress().target_steps(), 100) << "as submitted, until the trainer knows better";
  EXPECT_EQ(told.progress().step(), 0);
}

TEST(Convert, ACheckpointIsToldFieldByField) {
  const RunValue run = FullRun();
  const v1::Checkpoint best = ToProto(run, run.checkpoints[0]);
  const auto expected = Parse<v1::Checkpoint>(R"(
      run_id: "run-id" step: 10 epoch: 4 leg: 2 directory: "/storage/10" manifest_digest: "digest-10"
      size_bytes: 77 validation_loss: 1.5 sealed_at { seconds: 5 nanos: 6000 } best: true
      pinned: true)");
  EXPECT_EQ(DifferenceBetween(expected, best), "");
  EXPECT_THAT(UnsetFields(best),
              ElementsAre("latest", "quarantine_reason", "quarantined_at", "superseded"));
  const v1::Checkpoint latest = ToProto(run, run.checkpoints[1]);
  EXPECT_TRUE(latest.latest());
  EXPECT_FALSE(latest.best());
}

TEST(Convert, ACheckpointInQuarantineIsToldFieldByField) {
  const QuarantinedCheckpoint held{FullCheckpoint(10, 1.5), "a digest differs", At(7'000'008)};
  const auto expected = Parse<v1::Checkpoint>(R"(
      run_id: "run-id" step: 10 epoch: 4 leg: 2 directory: "/storage/10"
      manifest_digest: "digest-10" size_bytes: 77 validation_loss: 1.5
      sealed_at { seconds: 5 nanos: 6000 } quarantine_reason: "a digest differs"
      quarantined_at { seconds: 7 nanos: 8000 } pinned: true)");
  RunValue run = FullRun();
  run.checkpoints.erase(run.checkpoints.begin());
  const v1::Checkpoint told = ToProto(run, held);
  EXPECT_EQ(DifferenceBetween(expected, told), "");
  EXPECT_THAT(UnsetFields(told), ElementsAre("latest", "best", "superseded"));
}

TEST(Convert, ALostCheckpointKeepsTheNameOfItsDirectory) {
  const QuarantinedCheckpoint lost{FullCheckpoint(10, 1.5), "its directory is gone", At(7), true};
  EXPECT_EQ(ToProto(FullRun(), lost).directory(), "/storage/10");
}

TEST(Convert, ALineIsToldFieldByField) {
  const v1::LogLine line = ToProto(Line{.sequence = 1,
                                        .at = At(2'000'003),
                                        .rank = 4,
                                        .epoch = 5,
                                        .text = "text",
                                        .source = "agent",
                                        .source_sequence = 6});
  EXPECT_EQ(DifferenceBetween(Parse<v1::LogLine>(R"(
      sequence: 1 at { seconds: 2 nanos: 3000 } rank: 4 epoch: 5 text: "text")"),
                              line),
            "");
  EXPECT_THAT(UnsetFields(line), IsEmpty());
}

TEST(Convert, ANodeIsToldFieldByField) {
  Node node;
  node.id = NodeId("n");
  node.name = "node name";
  node.version = "0.1.0";
  node.connected = true;
  node.last_heard_at = At(1'000'002);
  node.gpu_driver = "580";
  node.gpu_problem = "gpu problem";
  node.storage_problem = "storage problem";
  node.cordon = Cordon{true, "new kernel", "owner", At(2'000'003)};
  node.load = MachineLoad{.runnable_threads = 2.5,
                          .cores = 2,
                          .swap_bytes_per_second = 4.5,
                          .busy_cores = 1.5,
                          .memory_bytes = 16,
                          .available_memory_bytes = 8,
                          .storage_bytes = 32,
                          .free_storage_bytes = 4};
  node.slot_use = {{SlotId("s1"), {.cores = 1.25, .memory_bytes = 7}}};
  node.slots = {{SlotId("s1"), "GPU-1", {3, 4}, 99, "H100", "9.0", "slot problem"}};
  Cluster cluster = ClusterWithNode();
  RunValue run = FullRun();
  run.holds_slots = true;
  cluster.runs.Set(run.id, std::make_shared<const RunValue>(run));
  cluster.busy.emplace(1, run.id);
  const v1::Node told = ToProto(cluster, node);
  EXPECT_EQ(DifferenceBetween(Parse<v1::Node>(R"(
      node_id: "n" name: "node name" connected: true version: "0.1.0"
      last_heard_at { seconds: 1 nanos: 2000 } gpu_driver: "580" gpu_problem: "gpu problem"
      storage_problem: "storage problem"
      cordon { drain: true reason: "new kernel" actor: "owner" since { seconds: 2 nanos: 3000 } }
      busy_slots: 2
      slots {
        slot_id: "s1" device: "GPU-1" cores: 3 cores: 4 memory_bytes: 99 run_id: "run-id"
        device_name: "H100" compute_capability: "9.0" problem: "slot problem"
        use { cores: 1.25 memory_bytes: 7 } }
      load {
        runnable_threads: 2.5 cores: 2 swap_bytes_per_second: 4.5 busy_cores: 1.5
        memory_bytes: 16 available_memory_bytes: 8 storage_bytes: 32 free_storage_bytes: 4 })"),
                              told),
            "");
  EXPECT_THAT(UnsetFields(told), ElementsAre("lost", "data_problems")) << "told by Nodes alone";
}

TEST(Convert, AnAssignmentIsToldFieldByField) {
  Assignment assignment{.run = std::make_shared<const RunValue>(FullRun()),
                        .rank = 1,
                        .slot = SlotId("s1"),
                        .incarnation = "process-1",
                        .resume = FullCheckpoint(10, 1.5),
                        .nccl_id = "00ff",
                        .stop = true,
                        .stop_now = true,
                        .stop_reason = "cancelled",
                        .sealed_steps = {10, 20},
                        .refused_seals = {{30, "too old"}}};
  const v1::Assignment told = ToProto(assignment, GroupKey(GroupKey::Bytes{1}));
  EXPECT_EQ(DifferenceBetween(Parse<v1::Assignment>(R"(
      run_id: "run-id" run_name: "tiny" epoch: 7 rank: 1 world_size: 2 slot_id: "s1"
      incarnation: "process-1" kind: RUN_KIND_EVAL resolved: "name: tiny\nseed: 1\ninit_from: /models/gpt2\n"
      run_directory: "/storage/runs/r" of_owner: true begun: true begins_leg: true
      passes_over: 12
      resume { step: 10 directory: "/storage/10" manifest_digest: "digest-10" }
      membership {
        addresses: "h:1" addresses: "h:2" needs_nccl_id: true nccl_id: "00ff" encrypted: true
        secret: "ccb833ded4f048701168c5ddb2773670d575039c6203a76cf98c91c3af470efd" }
      go: true stop: true stop_now: true stop_reason: "cancelled" sealed_steps: 10 sealed_steps: 20
      refused_seals { step: 30 reason: "too old" }
      choices {
        threads_per_rank: 5 logical_shards: 16 isa: "avx2"
        kernels { key: "avx2" value: "choices" } })"),
                              told),
            "");
  EXPECT_THAT(UnsetFields(told), IsEmpty());
}

TEST(Convert, AnEventIsToldFieldByField) {
  const StoredEvent stored{
      9, {RunId("r"), At(1'000'002), "scheduler", "request", RunQueued{"it waits"}}};
  const v1::RunEvent told = ToProto(stored, RunState::kBackoff, 3);
  EXPECT_EQ(DifferenceBetween(Parse<v1::RunEvent>(R"(
      sequence: 9 at { seconds: 1 nanos: 2000 } state: RUN_STATE_BACKOFF kind: "queued"
      actor: "scheduler" reason: "it waits" epoch: 3 request_id: "request")"),
                              told),
            "");
  EXPECT_THAT(UnsetFields(told), IsEmpty());
}

TEST(Convert, EveryKindOfEventIsDescribed) {
  std::vector<std::string> descriptions;
  for (const Event& event : OneOfEachKind()) descriptions.push_back(Describe(event));
  EXPECT_THAT(
      descriptions,
      ElementsAre("submitted as 'tiny', 2 ranks", "placement: needs 2 slots", "it fits", "killed",
                  "it fits", "every rank listens", "every rank is ready",
                  "checkpoint of step 10 sealed", "checkpoint of step 20 sealed, the final one",
                  "checkpoint of step 10 retired", "step 11: the loss is far from ln V", "killed",
                  "it fits", "damaged", "the coordinator read it", "it fits", "every rank is ready",
                  "killed", "it fits", "damaged", "the coordinator found it damaged",
                  "checkpoint of step 20 is intact and back in the catalogue", "it fits",
                  "rank 1: stopped", "it fits", "every rank is ready",
                  "node a is drained (new kernel); the ranks save their last step and leave",
                  "the final checkpoint is sealed", "its sweep was cancelled",
                  "cancel requested, without saving", "cancelled by the user",
                  "extended to 200 steps", "it fits", "every rank is ready", "pause requested",
                  "paused at step 20", "resumed", "it fits", "every rank listens",
                  "every rank is ready", "rank 0: killed; the run goes on with 1 of 2 ranks",
                  "changed", "the next leg begins", "cancel requested, without saving",
                  "cancelled by the user",
                  "label team=research set, label a removed, note changed"));
}

TEST(Convert, EventsThatKeepOrFreeStorageAreDescribed) {
  std::vector<std::string> descriptions;
  for (const Event& event : OneOfEachStorageKind()) descriptions.push_back(Describe(event));
  EXPECT_THAT(descriptions,
              ElementsAre("checkpoint of step 20 pinned", "2 checkpoints removed: steps 10, 20",
                          "deleted, except its checkpoints"));
}

TEST(Convert, ARankIsReadFieldByField) {
  const auto status = Parse<v1::RankStatus>(R"(
      run_id: "r" epoch: 1 rank: 2 slot_id: "s" incarnation: "i" phase: RANK_PHASE_EXITED
      address: "h:1" step: 3 exit_cause: EXIT_CAUSE_STORAGE exit_code: 4 message: "disk full"
      written {
        step: 5 directory: "d" manifest_digest: "m" size_bytes: 6 validation_loss: 7.5 final: true
        end_reason: "e" }
      pid: 8
      offer {
        isa_levels: "avx512" isa_levels: "avx2" kernels { key: "avx2" value: "choices" }
        nccl_id: "00ff" }
      waiting: "no room"
      progress { phase: "backward" waits_for: "peer" peer: 1 still_ms: 2100 limit_ms: 2000 }
      holds: true)");
  ASSERT_THAT(UnsetFields(status), IsEmpty());
  const auto ranks = [&status] {
    google::protobuf::RepeatedPtrField<v1::RankStatus> statuses;
    *statuses.Add() = status;
    return FromProto(statuses);
  }();
  ASSERT_EQ(ranks.size(), 1u);
  // Fails to compile when a member is added: then set its field in the message and check it here.
  const auto& [run, epoch, rank, slot, incarnation, phase, address, isa_levels, kernels, nccl_id,
               step, cause, exit_code, message, written, waiting, progress, holds, exited_at,
               held_since] = ranks[0];
  EXPECT_TRUE(holds);
  EXPECT_EQ(held_since, Instant());
  ASSERT_TRUE(progress.has_value());
  EXPECT_EQ(progress->phase, "backward");
  EXPECT_TRUE(progress->awaits_peer);
  EXPECT_EQ(progress->peer, 1);
  EXPECT_EQ(progress->still, std::chrono::milliseconds(2100));
  EXPECT_EQ(progress->limit, std::chrono::milliseconds(2000));
  EXPECT_EQ(run, RunId("r"));
  EXPECT_EQ(epoch, 1u);
  EXPECT_EQ(rank, 2);
  EXPECT_EQ(slot, SlotId("s"));
  EXPECT_EQ(incarnation, "i");
  EXPECT_EQ(phase, RankPhase::kExited);
  EXPECT_EQ(address, "h:1");
  EXPECT_THAT(isa_levels, ElementsAre("avx512", "avx2"));
  EXPECT_EQ(kernels, (std::map<std::string, std::string>{{"avx2", "choices"}}));
  EXPECT_EQ(nccl_id, "00ff");
  EXPECT_EQ(step, 3);
  EXPECT_EQ(cause, ExitCause::kStorage);
  EXPECT_EQ(exit_code, 4);
  EXPECT_EQ(message, "disk full");
  EXPECT_EQ(waiting, "no room");
  EXPECT_EQ(exited_at, Instant{}) << "the cluster says when";
  EXPECT_THAT(written, ElementsAre(contract::WrittenCheckpoint{5, "d", "m", 6, 7.5, true, "e"}));
}

TEST(Convert, ASlotIsReadFieldByField) {
  const auto told = Parse<v1::Slot>(R"(
      slot_id: "s" device: "GPU-1" cores: 1 cores: 2 memory_bytes: 3 run_id: "of the coordinator"
      device_name: "H100" compute_capability: "9.0" problem: "lost")");
  ASSERT_THAT(UnsetFields(told), ElementsAre("use")) << "reports have it";
  const auto& [id, device, cores, memory_bytes, device_name, capability, problem] = FromProto(told);
  EXPECT_EQ(id, SlotId("s"));
  EXPECT_EQ(device, "GPU-1");
  EXPECT_THAT(cores, ElementsAre(1, 2));
  EXPECT_EQ(memory_bytes, 3u);
  EXPECT_EQ(device_name, "H100");
  EXPECT_EQ(capability, "9.0");
  EXPECT_EQ(problem, "lost");
}

TEST(Convert, AListIsAskedForFieldByField) {
  const auto request = Parse<v1::ListRequest>(R"(
      states: RUN_STATE_FAILED states: RUN_STATE_RUNNING labels { key: "a" value: "b" }
      labels { key: "c=d" value: "e" }
      submitted_since { seconds: 2 nanos: 3000 } search: "tiny" include_finished: true)");
  const auto query = FromProto(request);
  ASSERT_TRUE(query.ok()) << query.status();
  const RunQuery expected{.states = {RunState::kRunning, RunState::kFailed},
                          .labels = {{"a", "b"}, {"c", "d=e"}},
                          .submitted_since = At(2'000'003),
                          .search = "tiny"};
  EXPECT_EQ(CanonicalText(*query), CanonicalText(expected));
}

TEST(Convert, AListWithoutStatesIsOfTheRunsThatHaveNotEnded) {
  v1::ListRequest request;
  const auto live = FromProto(request);
  EXPECT_TRUE(live->WantsLive());
  EXPECT_FALSE(live->WantsEnded());
  request.set_include_finished(true);
  EXPECT_TRUE(FromProto(request)->states.empty()) << "every state";
  for (const int none : {0, 3, 6, 9, 16, -1, 1000}) {
    v1::ListRequest wrong;
    wrong.add_states(static_cast<v1::RunState>(none));
    EXPECT_EQ(FromProto(wrong).status().code(), StatusCode::kInvalidArgument) << none;
  }
  v1::ListRequest many;
  for (int i = 0; i < 1000; ++i) (*many.mutable_labels())["key" + std::to_string(i)] = "v";
  EXPECT_EQ(FromProto(many).status().code(), StatusCode::kInvalidArgument);
}

TEST(Convert, RunsAreCountedByStateInTheNamespacesThatTheCallerSees) {
  Cluster cluster;
  for (const auto& [id, name, state] :
       {std::tuple("r1", "a", RunState::kQueued), std::tuple("r2", "b", RunState::kQueued),
        std::tuple("r3", "b", RunState::kFailed)}) {
    Submission submission;
    submission.run_namespace = name;
    RunValue run;
    run.id = RunId(id);
    run.submission = std::make_shared<const Submission>(submission);
    run.state = state;
    cluster.Set(std::move(run));
  }
  v1::ListResponse all;
  AddStateCounts(cluster.counts, std::nullopt, all);
  EXPECT_EQ(DifferenceBetween(Parse<v1::ListResponse>(R"(
      state_counts { state: RUN_STATE_QUEUED runs: 2 }
      state_counts { state: RUN_STATE_FAILED runs: 1 })"),
                              all),
            "");
  v1::ListResponse of_a;
  AddStateCounts(cluster.counts, std::set<std::string>{"a", "nobody"}, of_a);
  EXPECT_EQ(DifferenceBetween(
                Parse<v1::ListResponse>("state_counts { state: RUN_STATE_QUEUED runs: 1 }"), of_a),
            "");
}

}  // namespace
}  // namespace gp::coordinator
