// Event: everything that can change the cluster. Durable kinds equal gp.store.v1.Record's; they are
// the history of the runs, and a restart replays them. Volatile kinds are agents' messages, the
// time, and what the coordinator observed. Values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coordinator/state/device.h"
#include "coordinator/state/ids.h"
#include "coordinator/state/node.h"
#include "coordinator/state/rank.h"
#include "coordinator/state/run.h"
#include "coordinator/state/sweep.h"
#include "coordinator/state/time.h"

namespace gp::coordinator {

// ---- Durable ----

struct RunSubmitted {
  Submission submission;
};

struct RunQueued {
  std::string reason;
};

struct RunPlaced {
  Epoch epoch = 0;
  std::vector<Placement> placement;  // by rank
  std::string reason;
  int64_t resume_step = -1;  // -1: from init_from, because no checkpoint is available
  int threads_per_rank = 1;
  std::string isa;
  Device device = Device::kAuto;  // the run's device from now on; kAuto: unchanged
  int leg = 1;
};

struct RunGroupReady {
  Epoch epoch = 0;
  std::vector<std::string> addresses;  // by rank
  std::string nonce;                   // drawn by Batch when it applies the planned event
  // The instruction set level and kernels of every rank; a run's first RunGroupReady decides them.
  std::string isa;
  std::map<std::string, std::string> kernels;
  bool encrypted = false;  // the ranks encrypt what they send each other
};

// Every rank is ready: all may train.
struct RunStarted {
  Epoch epoch = 0;
};

// Who reads a checkpoint a second time after a rank reported it as damaged.
enum class NextReader {
  kNone = 0,    // for a failure without a damaged checkpoint
  kNobody = 1,  // this was the second reader; or the coordinator found it intact; or the run did
                // not resume from its newest checkpoint
  kAnotherNode = 2,
  kCoordinator = 3,
};

struct RankFailed {
  Epoch epoch = 0;
  int rank = 0;
  ExitCause cause = ExitCause::kUnspecified;
  std::string message;
  bool retry = true;  // false: the next plan ends the run as failed
  Timestamp retry_at{};
  NextReader next_reader = NextReader::kNone;  // for a damaged checkpoint
  // The node lacks the run's data and other nodes can take over, so this failure does not count
  // towards retries_max.
  bool passes_over = false;
  // The trainer ended by itself, not because of its node, its storage, its data or a peer, nor by a
  // kill from outside; see Run::idle_exits.
  bool own_exit = false;
  int64_t step = -1;  // the last committed one of a run that was RUNNING; -1: it took no steps
};

// The ranks of a cancelled run save the step in progress and exit; with `now` they exit at once. A
// second request may add `now`, but cannot take it back.
struct CancelRequested {
  bool now = false;
  std::string reason;  // why a sweep stops its trial; empty: a user asked
};

struct CheckpointSealed {
  Epoch epoch = 0;
  contract::WrittenCheckpoint checkpoint;
  int leg = 1;
};

struct CheckpointRetired {
  int64_t step = 0;
  std::string directory;
};

// A rank had reported this checkpoint as damaged, but a second reader found it intact.
struct CheckpointVerified {
  int64_t step = 0;
  std::string text;
};

// Two readers found the checkpoint damaged: it leaves the catalogue and goes into quarantine, and
// the run resumes from an older one. With `lost` its directory is gone: no reader is involved, and
// ranks that run continue. LoseGone and RestoreState write those (checkpoints/). An `epoch` without
// `lost`: the first reader was the trainer of another run, which was to begin from the checkpoint.
struct CheckpointDamaged {
  int64_t step = 0;
  std::string reason;
  bool lost = false;  // its directory is gone
  // That wrote it, if it is lost and superseded, or if another run found it damaged; otherwise 0.
  Epoch epoch = 0;
};

// On a user's request the coordinator read a checkpoint in quarantine, found it intact and put it
// back into the catalogue.
struct CheckpointRestored {
  int64_t step = 0;
};

struct RunFinishing {
  Epoch epoch = 0;
};

struct RunEnded {
  RunState state = RunState::kUnspecified;
  std::string reason;
  bool set_aside =
      false;  // a bug in the coordinator prevents the run from continuing; allowed from any state
};

// A rank reported a metric point with a warning for the user.
struct RunWarned {
  Epoch epoch = 0;
  int64_t step = 0;
  std::string text;
};

// The ranks were stopped from outside: an agent or a trainer was asked to stop, or a node of the
// run is drained. This is not a failure: the run waits for slots again and resumes from its newest
// checkpoint.
struct RunRequeued {
  Epoch epoch = 0;
  std::string reason;
};

// A rank of a RUNNING run is on a node that is drained: all ranks of the run save the step in
// progress and leave; RunRequeued follows. A run that is still STARTING is requeued at once.
struct RunDraining {
  Epoch epoch = 0;
  std::string reason;
};

// The run saves, leaves its slots and waits for RunResumed. A run without slots is paused at once.
struct PauseRequested {};

// The ranks of a run that a user asked to pause have left, or it failed meanwhile.
struct RunPaused {
  std::string reason;
};

struct RunResumed {};

// Ranks of a RUNNING run died, or others join it. The members keep their processes, form a group of
// the next epoch and go on in the same step, with the state of those that have one. The other ranks
// of the epoch before lose their slots.
struct RunReconfigured {
  Epoch epoch = 0;
  std::vector<Placement> members;      // by rank, with their incarnations
  std::vector<std::string> addresses;  // by rank
  std::string nonce;                   // drawn by Batch when it applies the planned event
  std::string reason;
  int failed_joins = 0;  // ranks that leave the group before they got the state
};

// A RUNNING run gets a slot for a rank that joins its group later.
struct JoinerPlaced {
  Epoch epoch = 0;  // of the run now
  Placement place;  // its rank is Run::numbered_ranks
  std::string reason;
};

// A joiner ended, its node is lost, or it is not needed any more: the run gives its slot back.
struct JoinerLeft {
  Epoch epoch = 0;  // this and the next one: as in Joiner
  int rank = 0;
  ExitCause cause = ExitCause::kUnspecified;
  bool failed = true;  // other joiners wait for a while
  std::string reason;
};

// A user asks the run to continue with another leg. If it holds slots, its ranks save and leave
// first, and LegBegun follows; otherwise the leg begins now.
struct LegRequested {
  Submission submission;  // Apply keeps the run's own request_id and body_digest
  // As Leg::first_step; absent: that of the newest checkpoint when the leg begins.
  std::optional<int64_t> first_step;
  std::string why;  // "extended to 500 steps"
  // The digest of the call (service/continuation.h); empty in records of older versions.
  std::string body_digest;
};

// The leg that was requested begins. Withdraws the slots that ranks of a finished leg still hold.
struct LegBegun {};

// The run has ended and is not listed any more; its directory is deleted after that. A second one
// deletes the checkpoints that the first one kept.
struct RunDeleted {
  bool keep_checkpoints = false;  // directories of sealed checkpoints stay
  int checkpoints = 0;            // sealed ones, removed or kept
  uint64_t freed_bytes = 0;       // measured before the deletion
  // Asked by a dry run, whose answer names the runs that began from it: they refuse nothing, as
  // they may be deleted first. Not stored.
  bool is_trial = false;
};

// A user keeps a checkpoint from retention and prunes, or ends that.
struct CheckpointPinned {
  int64_t step = 0;
  Epoch epoch = 0;  // that wrote it
  bool pinned = true;
};

// A user or the service's retention removes checkpoints. Batch fills them in (PrunableCheckpoints).
struct CheckpointsPruned {
  std::vector<CheckpointKey> checkpoints;
  int keep_last = 1;  // of the request; not stored
};

// A user changed the labels or the note of a run, which may have ended.
struct RunAnnotated {
  std::map<std::string, std::string> labels;  // added, or with another value
  std::vector<std::string> removed_labels;    // keys
  std::optional<std::string> note;            // the whole note; absent: unchanged
};

// An operator requests a cordon; see Cordon. A second request replaces the first.
struct NodeCordoned {
  NodeId node;
  std::string name;  // of the node, until its agent connects again
  bool drain = false;
  std::string reason;
};

struct NodeUncordoned {
  NodeId node;
};

// A user starts a sweep. Its trials are submitted later, one by one.
struct SweepSubmitted {
  std::shared_ptr<const SweepSpec> spec;
};

// A user ends a sweep: no trial begins any more, and those that have not ended are cancelled.
struct SweepCancelled {
  SweepId sweep;
};

struct SweepEnded {
  SweepId sweep;
  SweepState state = SweepState::kFailed;
  std::string reason;
};

// ---- Volatile ----

// An agent opened a new stream (`session`), with the ranks that run there now.
struct NodeConnected {
  NodeId node;
  uint64_t session = 0;
  std::string name;
  std::string incarnation;
  std::string version;
  std::vector<Slot> slots;
  std::string data_address;
  std::string storage_problem;
  std::vector<RankReport> ranks;
  std::string gpu_driver;
  std::string gpu_problem;
  std::optional<std::vector<std::string>> data_roots = std::nullopt;
};

struct NodeDisconnected {
  NodeId node;
  uint64_t session = 0;
};

struct NodeReported {
  NodeId node;
  uint64_t session = 0;
  uint64_t applied_revision = 0;
  std::vector<RankReport> ranks;
  // The node's unusable slots, with the reason; the others are usable.
  std::map<SlotId, std::string> slot_problems;
  std::optional<MachineLoad> load = std::nullopt;
  std::map<SlotId, ResourceUse> slot_use = {};
};

// The coordinator has read the checkpoint that the run's suspicion is about.
struct CheckpointRead {
  int64_t step = 0;
  Verdict verdict = Verdict::kUnreadable;
  std::string text;
};

// Why a run waits for slots, or what a running rank waits for.
struct RunWaiting {
  std::string reason;
};

// The time now. Leases age only while ticks follow each other closely and agents' messages are read
// soon.
struct Tick {
  Instant now;
  std::chrono::nanoseconds unread{0};  // as in Now
};

using EventBody =
    std::variant<RunSubmitted, RunQueued, RunPlaced, RunGroupReady, RunStarted, RankFailed,
                 CancelRequested, CheckpointSealed, CheckpointRetired, RunFinishing, RunEnded,
                 RunWarned, CheckpointVerified, CheckpointDamaged, CheckpointRestored, RunRequeued,
                 RunDraining, RunReconfigured, JoinerPlaced, JoinerLeft, PauseRequested, RunPaused,
                 RunResumed, LegRequested, LegBegun, RunDeleted, CheckpointPinned,
                 CheckpointsPruned, RunAnnotated, NodeCordoned, NodeUncordoned, SweepSubmitted,
                 SweepCancelled, SweepEnded, NodeConnected, NodeDisconnected, NodeReported,
                 CheckpointRead, RunWaiting, Tick>;

struct Event {
  RunId run;  // empty for events of nodes and sweeps, and for ticks
  Timestamp at{};
  // Principal::Text of a caller ("user alice", "owner", "anyone"), "node <name>", "scheduler",
  // "coordinator", or "restore" for what RestoreState and a start with --adopt append.
  std::string actor;
  std::string request_id;
  EventBody body;
};

bool IsDurable(const Event& event);
// The node that the event is about; empty for other events.
NodeId NodeOf(const Event& event);
// "rank_failed", as gpctl events prints it.
std::string_view Kind(const Event& event);

}  // namespace gp::coordinator
