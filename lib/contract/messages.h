// The messages between a supervisor (the agent, the gateway) and an engine process (gp-trainer,
// gp-sampler) over the link. One struct per message; contract/codec.h turns them into frames.
// Fields are only added, unknown ones are ignored, so version N talks to N-1. The bytes are
// described in docs/formats/link.md. Plain values; no thread rules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "contract/exit_cause.h"
#include "contract/field.h"
#include "contract/sampling_messages.h"
#include "contract/training_point.h"
#include "contract/written_checkpoint.h"

namespace gp::link {

// The newest and the oldest version of these messages that this program speaks. Each side
// refuses a peer without a version in common (IsCompatible).
inline constexpr int kProtocol = 1;
inline constexpr int kProtocolMin = 1;

// ---- supervisor to engine ----

// The first message in both directions.
struct Hello {
  int protocol = kProtocol;
  int protocol_min = kProtocolMin;
  std::string version;
  // Identifies the engine process; the supervisor chooses it and the engine repeats it.
  std::string incarnation;
};

// Whether both sides speak a common protocol.
inline bool IsCompatible(const Hello& peer) {
  return peer.protocol_min <= kProtocol && peer.protocol >= kProtocolMin;
}

// Describes the run to train. Sent once, after Hello. The engine answers with Listening or Failed.
struct Start {
  std::string run_id;
  std::string run_name;
  uint64_t epoch = 0;
  int rank = 0;
  int world_size = 1;
  std::string resolved;       // the resolved run file, YAML
  std::string run_directory;  // absolute; rank 0 writes records and checkpoints below it
  std::string data_address;   // host to listen on for peers
  std::optional<contract::ResumePoint> resume;
  int threads = 1;
  int logical_shards = 1;
  std::optional<bool> begun;  // the run has trained before: its data was good then
  // The checkpoint to resume from belongs to the leg before the run's newest leg.
  std::optional<bool> begins_leg;
  // The training diverged after the checkpoint to resume from, at this step: the engine goes on
  // after it. Absent or 0: it goes on after the checkpoint.
  std::optional<int64_t> passes_over;
  // The instruction set and the kernel choices that an earlier epoch decided on, as in Configure;
  // empty: none yet.
  std::string isa;
  std::map<std::string, std::string> kernels;
};

// Describes the group of an epoch. The engine loads its state, connects to its peers and answers
// Ready. A rank that trains leaves its group at a Configure with a higher epoch and enters the new
// one with the state that it holds.
struct Configure {
  uint64_t epoch = 0;
  int rank = 0;
  std::vector<std::string> addresses;  // host:port by rank
  std::string secret;
  // The instruction-set level that every rank of the run must use, and the kernel choices for that
  // level; absent until they are decided.
  std::optional<std::string> isa;
  std::optional<std::map<std::string, std::string>> kernels;
  std::optional<std::string> nccl_id;  // hex; the id that a group of several GPUs connects with
  std::optional<bool> encrypted;       // the ranks encrypt what they send each other
};

// Every rank is ready: the engine begins to train.
struct Go {
  uint64_t epoch = 0;
};

// Asks the engine to answer Stopped and exit 0. Without `save_within_ms` the rank exits at once.
// With it, the group finishes the step in flight, all ranks exit after the same step, and rank 0
// saves that step and waits for its seal first. If the step is not finished after half of that
// time, it is given up and rank 0 saves the step before it. At a second Stop the rank exits at
// once.
struct Stop {
  std::string reason;
  std::optional<int64_t> save_within_ms;  // how long the supervisor waits for it
};

// The coordinator's answer to a CheckpointReport.
struct SealResult {
  int64_t step = 0;
  bool sealed = false;
  std::string reason;
};

// ---- engine to supervisor ----

struct Listening {
  std::string address;  // host:port
  // The instruction-set levels that this process supports, the preferred one first, and its tuned
  // kernel choices by level.
  std::optional<std::vector<std::string>> isa_levels;
  std::optional<std::map<std::string, std::string>> kernels;
  // Hex; rank 0 of a group of several GPUs makes it, and every rank of the epoch gets it.
  std::optional<std::string> nccl_id;
};

struct Ready {
  uint64_t epoch = 0;
  int64_t step = 0;
};

// A rank's measurements of a step besides the run's point. The agent turns them into its node's
// Prometheus metrics (worker/agent/rank_series.h); they go no further. Absent if the rank cannot
// measure them.
struct RankNumbers {
  // Saves of this process that failed or were skipped so far; only for rank 0.
  std::optional<int64_t> failed_saves;
  // The step's all-reduce, for a rank with peers: its total time, of which phases.allreduce_exposed
  // was not overlapped, and the bytes of the gradients that it summed.
  std::optional<double> allreduce_seconds;
  std::optional<int64_t> allreduce_bytes;
  // Whether a micro-batch was always in memory when the step asked for one: 0 (not always) or 1;
  // and the bytes of tokens read since the last report.
  std::optional<int> batches_ready;
  std::optional<int64_t> data_read_bytes;

  template <typename Visit>
  static constexpr void ForEachField(Visit&& visit) {
    visit(contract::FieldInfo{"failed_saves"}, &RankNumbers::failed_saves);
    visit(contract::FieldInfo{"allreduce_seconds"}, &RankNumbers::allreduce_seconds);
    visit(contract::FieldInfo{"allreduce_bytes"}, &RankNumbers::allreduce_bytes);
    visit(contract::FieldInfo{"batches_ready"}, &RankNumbers::batches_ready);
    visit(contract::FieldInfo{"data_read_bytes"}, &RankNumbers::data_read_bytes);
  }
};

// Sent by every rank after every committed step; points for users come from rank 0. The payload has
// the fields of both side by side.
struct StepReport {
  contract::TrainingPoint point;
  RankNumbers rank;
};

struct CheckpointReport : contract::WrittenCheckpoint {
  uint64_t epoch = 0;
  // How long this save kept the rank from training, while it was started, awaited or ahead of the
  // optimizer; without the gathering of moments (zero1) and without failed attempts.
  std::optional<double> held_up_seconds;
};

// All steps are done and the final checkpoint is written. The engine waits for its SealResult, then
// exits 0.
struct Finished {
  uint64_t epoch = 0;
  int64_t step = 0;
};

// The last message of an engine that cannot continue.
struct Failed {
  contract::ExitCause cause = contract::ExitCause::kError;
  std::string message;
};

// The last message of an engine that exits because it, or a peer, was asked to stop, or got a
// signal.
struct Stopped {
  uint64_t epoch = 0;
  int64_t step = 0;    // the last committed step
  std::string reason;  // who requested it
};

// The engine waits: `reason` says in a sentence for what, for example room for a checkpoint. It
// keeps its state and retries. An empty reason: it continues.
struct Waiting {
  uint64_t epoch = 0;
  std::string reason;
};

// The rank has lost a peer. It has severed its connections, keeps its state in memory, and waits
// for the Configure of a group with a higher epoch (stability.recovery: in_place).
struct Held {
  uint64_t epoch = 0;     // of the group that broke
  int64_t committed = 0;  // the last committed step
  bool prepared = false;  // it can commit the step after it, which a peer may have done
  std::string reason;     // which peer it lost, and in which operation
};

// What the training of this engine does now (base/machine/progress.h). Sent several times a second
// by the thread that reads the link, also while the training hangs: the agent compares the counts.
struct Beat {
  int phase = 0;       // progress::Phase
  uint64_t count = 0;  // grows with the work
  int waits_for = 0;   // progress::Wait
  int peer = -1;       // the rank that it waits for; -1: unknown or none
  // The longest interval in which the count stood still in this phase, without waits; absent until
  // the phase was left once.
  std::optional<int64_t> longest_ms;
};

using Message = std::variant<Hello, Start, Configure, Go, Stop, SealResult, Listening, Ready,
                             StepReport, CheckpointReport, Finished, Failed, Stopped, Waiting,
                             OpenModel, Generate, Withdraw, ModelReady, Generated, Beat, Held>;

}  // namespace gp::link
