// Events with every field set, for tests of their encoding.
#pragma once

#include <vector>

#include "coordinator/state/event.h"

namespace gp::coordinator {

inline Timestamp At(int64_t micros) { return Timestamp(std::chrono::microseconds(micros)); }

inline Submission SampleSubmission() {
  Submission submission;
  submission.name = "tiny";
  submission.source = "name: tiny\n";
  submission.resolved = "name: tiny\nseed: 1\n";
  submission.body_digest = "abc";
  submission.request_id = "request-1";
  submission.of_owner = true;
  submission.data_seen = true;
  submission.workers = 2;
  submission.priority = -3;
  submission.run_namespace = "team";
  submission.labels = {{"a", "b"}};
  submission.notify = {"ops", "chat"};
  submission.target_steps = 100;
  submission.target_tokens = 100000;
  submission.retries_max = 4;
  submission.retry_backoff = std::chrono::milliseconds(500);
  submission.retry_backoff_max = std::chrono::seconds(30);
  submission.kind = 1;
  submission.run_directory = "/storage/runs/r";
  submission.keep_last = 3;
  submission.keep_best = true;
  submission.keep_every = 500;
  submission.threads_per_rank = 2;
  submission.logical_shards = 4;
  submission.device = Device::kGpu;
  submission.model = "124M";
  submission.dataset = "text.txt";
  submission.precision = "bf16";
  submission.parent_run = "p";
  submission.parent_leg = 2;
  submission.parent_step = 50;
  submission.parent_tokens = 1600;
  submission.keeps_data_position = true;
  return submission;
}

inline Event SampleSubmit(const std::string& run, const std::string& request_id) {
  Submission submission = SampleSubmission();
  submission.request_id = request_id;
  return {RunId(run), At(1), "user", request_id, RunSubmitted{submission}};
}

inline const RunId kSampleRun("r");

// One event of each durable kind that concerns a node.
inline std::vector<Event> OneOfEachNodeKind() {
  return {{RunId(), At(8), "owner", "cordon-1", NodeCordoned{NodeId("n"), "a", true, "new kernel"}},
          {RunId(), At(9), "owner", "uncordon-1", NodeUncordoned{NodeId("n")}}};
}

// One event of each durable kind that keeps or frees storage.
inline std::vector<Event> OneOfEachStorageKind() {
  return {{kSampleRun, At(8), "owner", "pin-1", CheckpointPinned{20, 2, true}},
          {kSampleRun, At(8), "retention", "", CheckpointsPruned{{{10, 1}, {20, 2}}}},
          {kSampleRun, At(9), "user alice", "delete-1", RunDeleted{true, 2, 12345}}};
}

inline SweepSpec SampleSweep() {
  SweepSpec spec{.name = "rates",
                 .run_namespace = "team",
                 .source = "kind: Sweep\n",
                 .run_source = "name: tiny\n",
                 .body_digest = "def",
                 .max_parallel = 2,
                 .early_stop = {EarlyStopKind::kHalving, 10, 3, {10, 30}},
                 .trials = {}};
  SweepTrial trial{RunId("t1"), {{"optimizer.lr", "1e-3"}}, SampleSubmission(), {1000, 3000}};
  trial.submission.request_id = "trial-1";
  trial.submission.source.clear();
  trial.submission.resolved = "name: tiny\ninit_from: /storage/runs/p/c\n";
  spec.trials = {trial};
  return spec;
}

// One event of each durable kind that concerns a sweep. They can be applied in this order.
inline std::vector<Event> OneOfEachSweepKind() {
  const SweepId id = SampleSweep().id();
  const auto spec = std::make_shared<const SweepSpec>(SampleSweep());
  return {{RunId(), At(8), "user alice", "sweep-1", SweepSubmitted{spec}},
          {RunId(), At(9), "user alice", "cancel-1", SweepCancelled{id}},
          {RunId(), At(9), "scheduler", "", SweepEnded{id, SweepState::kCancelled, "cancelled"}}};
}

// One event of each other durable kind that concerns a run. They belong to the sample run and can
// be applied in this order.
inline std::vector<Event> OneOfEachKind() {
  const RunId& run = kSampleRun;
  const std::vector<Placement> placement = {{0, NodeId("n"), SlotId("s0")},
                                            {1, NodeId("n"), SlotId("s1")}};
  const auto event = [&](EventBody body) { return Event{run, At(7), "scheduler", "", body}; };
  const auto sealed = [](int64_t step, bool final) {
    return CheckpointSealed{
        2, {step, "/storage/runs/r/c", "digest", 12345, 2.5, final, final ? "stopped early" : ""}};
  };
  const auto resumed = [&](Epoch epoch) {
    return RunPlaced{epoch, placement, "it fits", 20, 2, "avx2", Device::kGpu};
  };
  const auto damaged = [](Epoch epoch) {
    return RankFailed{epoch, 1,      ExitCause::kDamagedCheckpoint, "damaged",
                      true,  At(99), NextReader::kCoordinator};
  };
  Submission longer = SampleSubmission();
  longer.target_steps = 200;
  return {
      SampleSubmit("r", "request-1"),
      event(RunQueued{"placement: needs 2 slots"}),
      event(RunPlaced{1, placement, "it fits", -1, 2, "avx2", Device::kGpu}),
      event(RankFailed{1, 1, ExitCause::kSignal, "killed", true, At(99)}),
      event(RunPlaced{2, placement, "it fits", -1, 2, "avx2", Device::kGpu}),
      event(RunGroupReady{2, {"h:1", "h:2"}, "nonce", "avx2", {{"avx2", "choices"}}, true}),
      event(RunStarted{2}),
      event(sealed(10, false)),
      event(sealed(20, true)),
      event(CheckpointRetired{10, "/storage/runs/r/c"}),
      event(RunWarned{2, 11, "the loss is far from ln V"}),
      event(RankFailed{2, 0, ExitCause::kOutOfMemory, "killed", true, At(99), NextReader::kNone,
                       false, true, 12}),
      event(resumed(3)),
      event(damaged(3)),
      event(CheckpointVerified{20, "the coordinator read it"}),
      event(resumed(4)),
      event(RunStarted{4}),
      event(RankFailed{4, 0, ExitCause::kOutOfMemory, "killed", true, At(99)}),
      event(resumed(5)),
      event(damaged(5)),
      event(CheckpointDamaged{20, "the coordinator found it damaged"}),
      event(CheckpointRestored{20}),
      event(resumed(6)),
      event(RunRequeued{6, "rank 1: stopped"}),
      event(resumed(7)),
      event(RunStarted{7}),
      event(RunDraining{7, "node a is drained (new kernel)"}),
      event(RunFinishing{7}),
      {run, At(8), "user", "cancel-1", CancelRequested{false, "its sweep was cancelled"}},
      {run, At(8), "user", "cancel-2", CancelRequested{true}},
      event(RunEnded{RunState::kCancelled, "cancelled by the user"}),
      {run, At(9), "user", "leg-2", LegRequested{longer, 20, "extended to 200 steps", "digest-2"}},
      event(RunPlaced{8, placement, "it fits", 20, 2, "avx2", Device::kGpu, 2}),
      event(RunStarted{8}),
      {run, At(9), "user", "pause-1", PauseRequested{}},
      event(RunPaused{"paused at step 20"}),
      {run, At(9), "user", "resume-1", RunResumed{}},
      event(RunPlaced{9, placement, "it fits", 20, 2, "avx2", Device::kGpu, 2}),
      event(RunGroupReady{9, {"h:1", "h:2"}, "nonce", "avx2", {{"avx2", "choices"}}, true}),
      event(RunStarted{9}),
      event(RunReconfigured{10,
                            {{0, NodeId("n"), SlotId("s1"), "process-1"}},
                            {"h:2"},
                            "another nonce",
                            "rank 0: killed; the run goes on with 1 of 2 ranks"}),
      event(JoinerPlaced{10, {1, NodeId("n"), SlotId("s2")}, "a rank starts on n:s2"}),
      event(JoinerLeft{10, 1, ExitCause::kSignal, true, "it was killed"}),
      event(JoinerPlaced{10, {2, NodeId("n"), SlotId("s2")}, "a rank starts on n:s2"}),
      event(RunReconfigured{11,
                            {{0, NodeId("n"), SlotId("s1"), "process-1"},
                             {1, NodeId("n"), SlotId("s2"), "process-3", true}},
                            {"h:2", "h:3"},
                            "a third nonce",
                            "1 rank joined on n:s2",
                            1}),
      {run, At(9), "user", "leg-3", LegRequested{longer, std::nullopt, "changed"}},
      event(LegBegun{}),
      {run, At(9), "user", "cancel-3", CancelRequested{true}},
      event(RunEnded{RunState::kCancelled, "cancelled by the user"}),
      {run, At(9), "user", "label-1", RunAnnotated{{{"team", "research"}}, {"a"}, "a lower rate"}}};
}

}  // namespace gp::coordinator
