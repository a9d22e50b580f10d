// Goal: every field of the coordinator appears under its name in the documents of `-o json`. All
// values of a case differ, so that swapped fields are detected; a new field must be added here.
#include "client/gpctl/render/run_json.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "proto/every_field.h"

namespace gp::testing {
namespace {

using Json = nlohmann::json;  // equal whatever the order of its keys

// Parses `text`, in which every field must be set except those in `defaults`.
template <typename Message>
Message Parse(const std::string& text, const std::vector<std::string>& defaults = {}) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  EXPECT_EQ(UnsetFields(message), defaults);
  return message;
}

constexpr const char* kPhases = R"(phases {
    data_wait: 1.25 forward: 2.25 backward: 3.25 allreduce_exposed: 4.25 optimizer: 5.25
    other: 6.25 })";
constexpr const char* kPhasesJson = R"("phases": {
    "data_wait": 1.25, "forward": 2.25, "backward": 3.25, "allreduce_exposed": 4.25,
    "optimizer": 5.25, "other": 6.25})";

TEST(RunJson, ARunHasAllItsFields) {
  const auto run = Parse<v1::Run>(R"(
      run_id: "id" name: "name" kind: RUN_KIND_TRAIN namespace: "team" priority: 2
      labels { key: "a" value: "b" } state: RUN_STATE_RUNNING reason: "reason" epoch: 3 failures: 4
      submitted_at { seconds: 60 nanos: 1 } started_at { seconds: 120 nanos: 1 }
      finished_at { seconds: 180 nanos: 1 }
      placement { rank: 1 node_id: "node id" node_name: "node" slot_id: "slot" }
      progress {
        step: 12 target_steps: 2000 tokens: 4096 target_tokens: 100000 loss: 4.5
        validation_loss: 8.5 validation_step: 11 tokens_per_second: 1024.5 mfu: 0.5
        step_seconds: 0.75 learning_rate: 0.25 gradient_norm: 1.5 )" +
                                  std::string(kPhases) + R"(
        peak_flops: 9.5 peak_source: "measured" warning: "warning" skipped_steps: 13
        skipped_spikes: 5
        processor_wait: 0.125
        pace_seconds: 0.875 best_validation_loss: 7.25 best_validation_step: 10
        best_validation_checkpoint: "/c" best_validation_superseded: true
        scores { name: "val_bpb" value: 2.5 step: 11 } }
      latest_checkpoint_step: 20 best_checkpoint_step: 10 run_directory: "/runs/id"
      source: "source" resolved: "resolved" request_id: "request" workers: 5
      choices {
        threads_per_rank: 6 logical_shards: 8 isa: "avx2"
        kernels { key: "avx2" value: "choices" } }
      gradients_encrypted: true queue_position: 9 submitted_by: "user ann"
      device: "gpu" initial_model: "base@250"
      parent { run_id: "p" run_name: "base" leg: 7 step: 250 tokens: 8000 deleted: true } leg: 10 leaving_for: "leaving"
      note: "a lower rate" use { cores: 2.5 memory_bytes: 18 }
      legs {
        number: 10 first_step: 14 why_begun: "begun" begun_at { seconds: 60 nanos: 1 }
        why_ended: "ended" ended_at { seconds: 120 nanos: 1 } resolved: "leg" target_steps: 15 }
      legs {
        number: 11 first_step: 16 why_begun: "again" begun_at { seconds: 180 nanos: 1 }
        why_ended: "over" ended_at { seconds: 240 nanos: 1 } resolved: "leg 2" target_steps: 17 })");
  // The document omits the run's kind, because there is only one.
  EXPECT_EQ(Json(gpctl::RunFields(run)), Json::parse(R"({
      "run_id": "id", "name": "name", "namespace": "team", "priority": 2, "state": "running",
      "reason": "reason", "epoch": 3, "failures": 4, "workers": 5, "gradients_encrypted": true,
      "device": "gpu", "initial_model": "base@250", "user": "ann",
      "progress": {
        "step": 12, "target_steps": 2000, "tokens": 4096, "target_tokens": 100000, "loss": 4.5,
        "lr": 0.25, "grad_norm": 1.5, "tokens_per_second": 1024.5, "mfu": 0.5,
        "step_seconds": 0.75, "pace_seconds": 0.875, "skipped_steps": 13, "skipped_spikes": 5, "peak_flops": 9.5, "peak_source": "measured", "processor_wait": 0.125,
        )" + std::string(kPhasesJson) +
                                                     R"(,
        "warning": "warning", "val_loss": 8.5, "val_step": 11, "best_val_loss": 7.25, "best_val_step": 10,
        "best_val_checkpoint": "/c", "best_val_superseded": true, "val_bpb": 2.5},
      "placement": [{"rank": 1, "node_id": "node id", "node": "node", "slot": "slot"}],
      "submitted_at": "1970-01-01T00:01:00Z", "started_at": "1970-01-01T00:02:00Z",
      "finished_at": "1970-01-01T00:03:00Z", "latest_checkpoint_step": 20,
      "best_checkpoint_step": 10,
      "engine": {
        "threads_per_rank": 6, "logical_shards": 8, "isa": "avx2", "kernels": {"avx2": "choices"}},
      "leg": 10, "parent": {"run_id": "p", "leg": 7, "step": 250, "tokens": 8000, "name": "base", "deleted": true},
      "leaving_for": "leaving", "use": {"cores": 2.5, "memory_bytes": 18},
      "legs": [
        {"leg": 10, "first_step": 14, "target_steps": 15, "why_begun": "begun",
         "begun_at": "1970-01-01T00:01:00Z", "why_ended": "ended",
         "ended_at": "1970-01-01T00:02:00Z", "resolved": "leg"},
        {"leg": 11, "first_step": 16, "target_steps": 17, "why_begun": "again",
         "begun_at": "1970-01-01T00:03:00Z", "why_ended": "over",
         "ended_at": "1970-01-01T00:04:00Z", "resolved": "leg 2"}],
      "labels": {"a": "b"}, "note": "a lower rate", "queue_position": 9, "submitted_by": "user ann", "run_directory": "/runs/id", "request_id": "request",
      "source": "source", "resolved": "resolved"})"));
}

TEST(RunJson, ACheckpointHasAllItsFields) {
  const auto checkpoint = Parse<v1::Checkpoint>(R"(
      run_id: "id" step: 1 epoch: 2 directory: "/c" manifest_digest: "digest" size_bytes: 3
      validation_loss: 4.5 sealed_at { seconds: 60 nanos: 1 } latest: true best: true
      quarantine_reason: "a digest differs" quarantined_at { seconds: 120 nanos: 1 } leg: 5
      superseded: true pinned: true)");
  EXPECT_EQ(Json(gpctl::CheckpointFields(checkpoint)), Json::parse(R"({
      "pinned": true, "run_id": "id", "step": 1, "epoch": 2, "directory": "/c", "manifest_digest": "digest",
      "size_bytes": 3, "latest": true, "best": true, "leg": 5, "state": "quarantined", "val_loss": 4.5,
      "sealed_at": "1970-01-01T00:01:00Z", "quarantine_reason": "a digest differs",
      "quarantined_at": "1970-01-01T00:02:00Z"})"));
  v1::Checkpoint latest = checkpoint;
  latest.clear_best();
  latest.clear_quarantined_at();
  EXPECT_EQ(gpctl::CheckpointFields(latest)["state"], "superseded");
  latest.clear_superseded();
  EXPECT_EQ(gpctl::CheckpointFields(latest)["state"], "sealed");
  EXPECT_EQ(gpctl::CheckpointFields(latest)["latest"], true);
  EXPECT_EQ(gpctl::CheckpointFields(latest)["best"], false);
}

TEST(RunJson, AnEventHasAllItsFields) {
  const auto event = Parse<v1::RunEvent>(R"(
      sequence: 1 at { seconds: 60 nanos: 1 } state: RUN_STATE_BACKOFF kind: "rank_failed"
      actor: "scheduler" reason: "reason" epoch: 2 request_id: "request")");
  EXPECT_EQ(Json(gpctl::EventFields(event)), Json::parse(R"({
      "sequence": 1, "at": "1970-01-01T00:01:00Z", "state": "backoff", "event": "rank_failed",
      "actor": "scheduler", "reason": "reason", "epoch": 2, "request_id": "request"})"));
}

TEST(RunJson, ALineHasAllItsFields) {
  const auto line = Parse<v1::LogLine>(
      R"(sequence: 1 at { seconds: 60 nanos: 1 } rank: 2 epoch: 3 text: "text")");
  EXPECT_EQ(Json(gpctl::LogLineFields(line)), Json::parse(R"({
      "sequence": 1, "at": "1970-01-01T00:01:00Z", "rank": 2, "epoch": 3, "text": "text"})"));
}

TEST(RunJson, APointHasAllItsFields) {
  const auto point = Parse<v1::MetricPoint>(std::string(kPhases) + R"(
      step: 12 epoch: 3 tokens: 4096 loss: 4.5 learning_rate: 0.25 gradient_norm: 1.5
      tokens_per_second: 1024.5 mfu: 0.5 step_seconds: 0.75 validation_loss: 7.5
      at { seconds: 60 nanos: 250000001 } skipped: true spike: true target_steps: 2000 peak_flops: 9.5
      peak_source: "measured" processor_wait: 0.125 warning: "warning" scores { name: "val_bpb" value: 2.5 })");
  EXPECT_EQ(Json(gpctl::MetricFields(point)), Json::parse(R"({
      "step": 12, "tokens": 4096, "loss": 4.5, "lr": 0.25, "grad_norm": 1.5,
      "tokens_per_second": 1024.5, "mfu": 0.5, "step_seconds": 0.75, "val_loss": 7.5, "val_bpb": 2.5, "epoch": 3,
      "skipped": true, "spike": true, )" + std::string(kPhasesJson) +
                                                          R"(, "peak_flops": 9.5,
      "peak_source": "measured", "processor_wait": 0.125, "target_steps": 2000, "warning": "warning",
      "at": "1970-01-01T00:01:00.250Z"})"));
}

TEST(RunJson, ANodeHasAllItsFields) {
  const auto node = Parse<v1::Node>(R"(
      node_id: "id" name: "name" connected: true
      slots {
        slot_id: "slot" device: "GPU-1" cores: 1 memory_bytes: 2 run_id: "run"
        device_name: "H100" compute_capability: "9.0" problem: "lost"
        use { cores: 3.5 memory_bytes: 4 } }
      version: "0.1.0" last_heard_at { seconds: 60 nanos: 1 } gpu_driver: "580"
      gpu_problem: "gpu problem" storage_problem: "storage problem"
      cordon { drain: true reason: "new kernel" actor: "owner" since { seconds: 60 nanos: 1 } }
      busy_slots: 3 lost: true
      data_problems { run_id: "run" run_name: "run name" reason: "no data" }
      load { runnable_threads: 2.5 cores: 4 swap_bytes_per_second: 8.5 busy_cores: 1.5
        memory_bytes: 10 available_memory_bytes: 11 storage_bytes: 12 free_storage_bytes: 13 })");
  // Cores and last_heard_at are omitted: they are for the screens. `state` shows lost nodes.
  EXPECT_EQ(Json(gpctl::NodeFields(node)), Json::parse(R"({
      "node_id": "id", "name": "name", "connected": true, "state": "draining", "busy_slots": 3,
      "version": "0.1.0", "cordon": {
        "drain": true, "reason": "new kernel", "actor": "owner", "since": "1970-01-01T00:01:00Z"},
      "gpu_driver": "580",
      "gpu_problem": "gpu problem", "storage_problem": "storage problem",
      "data_problems": [{"run_id": "run", "run_name": "run name", "reason": "no data"}],
      "load": {"runnable_threads": 2.5, "cores": 4, "swap_bytes_per_second": 8.5,
        "busy_cores": 1.5, "memory_bytes": 10, "available_memory_bytes": 11,
        "storage_bytes": 12, "free_storage_bytes": 13},
      "slots": [{
        "slot": "slot", "device": "GPU-1", "run_id": "run", "memory_bytes": 2,
        "device_name": "H100", "compute_capability": "9.0", "problem": "lost",
        "use": {"cores": 3.5, "memory_bytes": 4}}]})"));
}

}  // namespace
}  // namespace gp::testing
