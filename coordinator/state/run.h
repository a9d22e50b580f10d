// Run: everything durable about one run, and the reason for its state. A value, shared as
// shared_ptr<const Run>.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "contract/field.h"
#include "contract/written_checkpoint.h"
#include "coordinator/state/device.h"
#include "coordinator/state/ids.h"
#include "coordinator/state/leg.h"
#include "coordinator/state/run_state.h"
#include "coordinator/state/time.h"

namespace gp::coordinator {

// The reason of a run whose ranks are all ready.
inline constexpr char kEveryRankReady[] = "every rank is ready";

// The user's request; it never changes while its leg lasts. It holds the values of the resolved run
// file that scheduling and metrics need, so that a run of an older version does not depend on how
// this version reads run files.
struct Submission {
  std::string name;
  std::string source;    // the run file as submitted
  std::string resolved;  // every key with its value
  std::string body_digest;
  std::string request_id;
  int workers = 1;
  int priority = 0;
  std::string run_namespace;
  std::map<std::string, std::string> labels;
  std::vector<std::string> notify;  // names of notification targets
  int64_t target_steps = 0;
  int64_t target_tokens = 0;
  // stability.recovery: in_place: when ranks die, the others go on if at least so many are left. 0:
  // all ranks start again.
  int survivors_min = 0;
  int retries_max = 0;
  std::chrono::microseconds retry_backoff{0};
  std::chrono::microseconds retry_backoff_max{0};
  int kind = 1;  // gp.v1.RunKind
  std::string run_directory;
  int keep_last = 1;
  bool keep_best = true;
  int64_t keep_every = 0;    // steps; 0: off (scheduler/retention.h)
  int threads_per_rank = 0;  // 0: the smallest core count of a slot of the first placement
  int logical_shards = 1;
  Device device = Device::kCpu;
  bool of_owner = false;  // submitted by the owner of the coordinator's Unix socket
  // At submission the coordinator could read every file that the run names, and a connected node
  // lets the run read it. Always false if the submitter is not the socket's owner: for others the
  // coordinator does not check. Decides whether missing data is retried (scheduler/recovery.cc).
  bool data_seen = false;
  // Labels of the metric gp_run_info: "124M", "fineweb_train_*.bin", "bf16".
  std::string model;
  std::string dataset;
  std::string precision;
  // The checkpoint of a known run that init_from names; an empty id: none.
  std::string parent_run;
  int parent_leg = 0;
  int64_t parent_step = 0;
  int64_t parent_tokens = 0;  // trained on up to that step; 0: unknown
  // Steps, tokens and the position in the data continue from the parent's. Otherwise they begin at
  // 0.
  bool keeps_data_position = false;

  // Not stored: number of the event that brought it; 0 before it is applied.
  uint64_t record = 0;
  // Not stored: source and resolved are empty, because the run or its leg has ended; the record has
  // them (store/run_texts.h). `initial_model` is the path of init_from then, empty for scratch.
  bool texts_are_stored = false;
  std::string initial_model;

  // Fields stored as they are; codec.cc converts request_id, labels, notify, the backoffs and
  // device.
  template <typename Visit>
  static constexpr void ForEachField(Visit&& visit) {
    using contract::FieldInfo;
    visit(FieldInfo{"name"}, &Submission::name);
    visit(FieldInfo{"source"}, &Submission::source);
    visit(FieldInfo{"resolved"}, &Submission::resolved);
    visit(FieldInfo{"body_digest"}, &Submission::body_digest);
    visit(FieldInfo{"workers"}, &Submission::workers);
    visit(FieldInfo{"priority"}, &Submission::priority);
    visit(FieldInfo{"run_namespace"}, &Submission::run_namespace);
    visit(FieldInfo{"target_steps"}, &Submission::target_steps);
    visit(FieldInfo{"target_tokens"}, &Submission::target_tokens);
    visit(FieldInfo{"survivors_min"}, &Submission::survivors_min);
    visit(FieldInfo{"retries_max"}, &Submission::retries_max);
    visit(FieldInfo{"kind"}, &Submission::kind);
    visit(FieldInfo{"run_directory"}, &Submission::run_directory);
    visit(FieldInfo{"keep_last"}, &Submission::keep_last);
    visit(FieldInfo{"keep_best"}, &Submission::keep_best);
    visit(FieldInfo{"keep_every"}, &Submission::keep_every);
    visit(FieldInfo{"threads_per_rank"}, &Submission::threads_per_rank);
    visit(FieldInfo{"logical_shards"}, &Submission::logical_shards);
    visit(FieldInfo{"of_owner"}, &Submission::of_owner);
    visit(FieldInfo{"data_seen"}, &Submission::data_seen);
    visit(FieldInfo{"model"}, &Submission::model);
    visit(FieldInfo{"dataset"}, &Submission::dataset);
    visit(FieldInfo{"precision"}, &Submission::precision);
    visit(FieldInfo{"parent_run"}, &Submission::parent_run);
    visit(FieldInfo{"parent_leg"}, &Submission::parent_leg);
    visit(FieldInfo{"parent_step"}, &Submission::parent_step);
    visit(FieldInfo{"parent_tokens"}, &Submission::parent_tokens);
    visit(FieldInfo{"keeps_data_position"}, &Submission::keeps_data_position);
  }

  bool operator==(const Submission&) const = default;
};

// The submission without its run files, which are most of its memory.
std::shared_ptr<const Submission> WithoutTexts(const std::shared_ptr<const Submission>& whole);

struct Placement {
  int rank = 0;
  NodeId node;
  SlotId slot;
  // The trainer process that continues from the epoch before, or that joins; empty: this epoch
  // started its own.
  std::string incarnation = {};
  bool joins = false;  // it gets the state from another rank of this epoch's group

  bool operator==(const Placement&) const = default;
};

// A rank that was started while the run trains, to become a member of a later epoch's group.
struct Joiner {
  Epoch epoch = 0;  // of the run when it was placed; its process reports this one until it joins
  Placement place;  // with a rank that no other process of that epoch has

  bool operator==(const Joiner&) const = default;
};

struct Group {
  std::vector<std::string> addresses;  // by rank
  std::string nonce;                   // the epoch's secret is derived from it; not secret itself
  bool encrypted = false;              // the ranks encrypt what they send each other
};

// A checkpoint that is complete, synced to disk and recorded in the store.
struct SealedCheckpoint : contract::WrittenCheckpoint {
  Epoch epoch = 0;
  Timestamp sealed_at{};
  int leg = 1;
  bool retired = false;   // no run resumes from it any more; its directory is being removed
  bool restored = false;  // a user brought it back from quarantine; never retired automatically
  std::string restored_by_request;  // the request id of that call
  bool pinned = false;              // a user keeps it: neither retention nor a prune removes it
};

// Tells the sealed checkpoints of a run apart: another leg may seal a step again.
struct CheckpointKey {
  int64_t step = 0;
  Epoch epoch = 0;  // that wrote it

  bool operator==(const CheckpointKey&) const = default;
};

// A checkpoint that two readers found damaged, or whose directory is gone. No run resumes from it.
// No program deletes it. A damaged one has a mark beside its directory
// (formats/checkpoint_directory.h).
struct QuarantinedCheckpoint {
  SealedCheckpoint checkpoint;
  std::string reason;
  Timestamp at{};
  bool lost = false;  // its directory was gone
  // It belongs to an earlier leg, beyond the step where the next leg began, so that it comes back
  // into Run::superseded.
  bool superseded = false;
};

// The coordinator's own verdict on a checkpoint. Unreadable: the storage failed, which says nothing
// about the checkpoint.
enum class Verdict { kWhole, kDamaged, kUnreadable };

// A rank reported that the checkpoint to resume from is damaged. One report does not remove a
// checkpoint from the catalogue, because the rank's node may be at fault.
//
//   one node says so ─┬─▶ another node reads it ──┬─▶ says so too: damaged
//                     │                           └─▶ its group starts: whole
//                     └─▶ no other has room: the coordinator reads it: whole, damaged or unreadable
struct Suspicion {
  int64_t step = 0;
  std::set<NodeId> told_by;
  bool asks_coordinator = false;  // the run waits for its verdict
  // The coordinator found it intact, so further reports of damage count as failures of the run.
  bool whole = false;
  // Volatile: the coordinator's verdict, and a message. After a restart it reads again.
  std::optional<std::pair<Verdict, std::string>> verdict;
};

// A rank could not use the run's data on this node. The run avoids the node until it connects again
// or Policy::data_recheck is over, as long as the other usable nodes have enough slots, busy or
// not. The entry itself stays until the node connects again or the run starts on it.
struct LackingNode {
  std::string reason;
  Instant since{};  // volatile: when this process saw the report
};

// What the next leg of a run is trained with.
struct NextLeg {
  std::shared_ptr<const Submission> submission;
  std::optional<int64_t> first_step;  // as LegRequested::first_step
  std::string why;
  std::string request_id;
  std::string body_digest;  // as LegRequested::body_digest
};

struct EndedLeg {
  Leg leg;
  std::shared_ptr<const Submission> submission;
};

struct Run {
  RunId id;
  std::shared_ptr<const Submission> submission;  // of the newest leg
  std::string submitted_by;                      // the actor of the submit: "user alice"
  std::map<std::string, std::string> labels;     // those of the submit, as users changed them
  std::string note;                              // what a user wrote about the run; may be empty
  uint64_t submitted_sequence = 0;
  uint64_t changed_sequence = 0;
  // Number of the event that first took the run out of SUBMITTED and QUEUED; 0: it never left.
  uint64_t left_queue_sequence = 0;

  RunState state = RunState::kUnspecified;
  std::string reason;  // never empty
  Timestamp submitted_at{};
  std::optional<Timestamp> started_at;
  std::optional<Timestamp> finished_at;
  uint64_t ended_sequence = 0;  // number of the event that ended it; 0: it has not ended
  Instant state_since{};        // volatile: when this process saw the state begin

  Leg leg;                           // the newest
  std::vector<EndedLeg> ended_legs;  // the others, the oldest first
  // Begins as soon as the run holds no slots: its ranks were told to save and leave.
  std::optional<NextLeg> next_leg;
  Epoch epoch = 0;                   // keeps growing in the next leg
  std::vector<Placement> placement;  // of the newest epoch; in force while holds_slots
  bool holds_slots = false;
  // Number of the newest event that changed an assignment of the run.
  uint64_t assigned_sequence = 0;
  std::optional<Group> group;  // of this epoch; absent until every rank listens
  bool go = false;             // every rank of this epoch was ready; the ranks may train
  // The epoch that started the run's processes: that of the newest placement.
  Epoch placed_epoch = 0;
  // Why the run goes on with a part of its ranks since an earlier epoch; empty: it has all of them.
  std::string shrunk_because;
  std::vector<Joiner> joiners;  // in force while holds_slots
  int numbered_ranks = 0;       // the ranks of this epoch: 0 up to this; joiners are numbered, too
  // Joiners that ended before they had joined, in a row, and when the newest one did.
  int failed_joins = 0;
  Timestamp join_failed_at{};
  Instant regrouped_at{};  // volatile: when this process saw the ranks form another group
  int64_t resume_step = -1;
  // Nodes that cannot compute with the leg's kernels, and why.
  std::map<NodeId, std::string> unfit_nodes;
  std::map<NodeId, LackingNode> lacking_nodes;
  std::set<NodeId> hosts;  // every node that it was ever placed on
  // A rank failed on this node's storage, or reported a damaged checkpoint there: the run is placed
  // on it only if the other nodes have no room. A confirmed damage clears the nodes that reported
  // it.
  std::set<NodeId> doubtful_nodes;

  // Why its ranks were told to save and leave the nodes of this placement; empty: they were not
  // told.
  std::string drained_because;

  bool cancel_now = false;    // the run is being cancelled, without saving
  std::string cancel_reason;  // as CancelRequested::reason
  // A user asked to pause the run, and its ranks have not left yet.
  bool pausing = false;

  int failures = 0;             // RankFailed events, in total
  int failures_since_seal = 0;  // those that retries_max limits, since the last sealed checkpoint
  // Ends of trainers by themselves (RankFailed::own_exit), in a row without a new step in between;
  // the highest step before one, and the node of the newest one after that step.
  int idle_exits = 0;
  int64_t exited_step = -1;
  NodeId exited_on;
  bool gave_up = false;    // no retry follows; the next plan ends the run as failed
  bool set_aside = false;  // ended because of a bug in the coordinator
  Timestamp failed_at{};
  Timestamp retry_at{};
  std::string backoff_reason;  // the failure's message: Run::reason during the pause

  int warnings = 0;
  // Epoch and step of the newest warning. A warning that is not later is a repetition.
  std::pair<Epoch, int64_t> warned_at;

  // The checkpoints that the newest leg builds on: its own, and those of each earlier leg up to the
  // step where the next leg began. By step, retired ones included.
  std::vector<SealedCheckpoint> checkpoints;
  // Checkpoints of earlier legs beyond the step where the next leg began. No run resumes from them,
  // and retention keeps them.
  std::vector<SealedCheckpoint> superseded;
  std::vector<QuarantinedCheckpoint> quarantined;
  std::optional<Suspicion> suspicion;

  // The newest checkpoint that is not retired; null if there is none.
  const SealedCheckpoint* LatestCheckpoint() const;
  // Of those that are not retired, the one with the lowest validation loss, the later one of
  // equals; null when none was evaluated.
  const SealedCheckpoint* BestCheckpoint() const;
  // Also a retired one; null if there is none.
  const SealedCheckpoint* FindCheckpoint(int64_t step) const;
  // The newest one of that step; null if there is none.
  const SealedCheckpoint* FindSuperseded(int64_t step) const;
  // Whether the newest leg has sealed its last step.
  bool HasFinalCheckpoint() const;
  // The newest one of that step; null if there is none.
  const QuarantinedCheckpoint* FindQuarantined(int64_t step) const;
  // The newest checkpoint before `step` that is not retired; null if there is none.
  const SealedCheckpoint* CheckpointBefore(int64_t step) const;
};

// Counts the end of a trainer by itself after `step` on `node`.
void NoteOwnExit(int64_t step, const NodeId& node, Run& run);
// Forgets the failures that limit retries: a user tries the run again, or another leg begins.
void ForgetFailures(Run& run);

// The sealed checkpoint, superseded ones too, also a retired one; null if there is none.
const SealedCheckpoint* FindSealed(const Run& run, const CheckpointKey& key);
SealedCheckpoint* FindSealed(Run& run, const CheckpointKey& key);

// The checkpoint of that step that the run builds on, else the newest superseded one; never a
// retired one. Null if there is none.
const SealedCheckpoint* FindOfStep(const Run& run, int64_t step);

// The checkpoint of the evaluation at `step` that gave `loss`, and whether an earlier leg has left
// it behind (Run::superseded); null if there is none. A step that was trained again in another leg
// has a checkpoint with another loss.
std::pair<const SealedCheckpoint*, bool> FindEvaluated(const Run& run, int64_t step, double loss);

// True while the run waits for the verdict about the checkpoint to resume from. It is not placed
// then.
bool AwaitsVerdict(const Run& run);

// What a user asked the ranks to save and leave for: a pause, or another leg. Empty: nothing.
std::string RequestedLeave(const Run& run);

// The directories of the run's sealed checkpoints, superseded ones too, without retired ones.
std::vector<std::string> SealedDirectories(const Run& run);

// The leg with this number; the newest if there is none.
const Leg& LegNumbered(const Run& run, int number);
const Submission& SubmissionOfLeg(const Run& run, int number);

// Why no leg of the run can begin at `first_step` (as LegRequested::first_step); empty when one
// can.
std::string LegRefusal(const Run& run, const std::optional<int64_t>& first_step);

// How the run lost its checkpoint of `step`: "damaged" if it is in quarantine, else "gone".
std::string_view HowLost(const Run& run, int64_t step);

// Why the newest leg cannot begin from the step that a user asked for: its checkpoint was lost
// before the leg sealed one of its own. Empty when it can, or nobody asked for a step.
std::string LostStartRefusal(const Run& run);

// Why the checkpoint of `step` cannot come back from quarantine; empty when it can.
std::string RestoreRefusal(const Run& run, int64_t step);

// The slots of its ranks and of its joiners. REQUIRES: the run holds slots.
std::vector<Placement> SlotsOf(const Run& run);

// How many ranks the run trains with when none is missing.
int WantedRanks(const Run& run);

// Whether a rank of the newest epoch, or one that joins, is or was on this node.
bool IsPlacedOn(const Run& run, const NodeId& node);

// Whether the ranks sum their gradients through NCCL: placement gives a GPU run GPUs only, so a
// group never mixes GPUs and CPU cores.
bool SumsOnGpus(const Run& run);

}  // namespace gp::coordinator
