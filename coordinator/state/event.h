// Event: everything that can change the cluster. Durable kinds equal gp.store.v1.Record's; they are
// the audit log and what a restart replays. Volatile kinds tell what agents said and what time it
// is. Values.
#pragma once

#include <cstdint>
#include <map>
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
  int64_t resume_step = -1;  // -1: from scratch
  int threads_per_rank = 1;
  std::string isa;
  Device device = Device::kAuto;  // what it computes on from now on; kAuto: as it was submitted
};

struct RunGroupReady {
  Epoch epoch = 0;
  std::vector<std::string> addresses;  // by rank
  std::string secret;                  // drawn by whoever appends the event
  // What every rank computes with; the first of these events decides for the whole run.
  std::string isa;
  std::map<std::string, std::string> kernels;
};

struct RunStarted {
  Epoch epoch = 0;
};

// Who reads a checkpoint a second time after a rank reported that it is damaged.
enum class NextReader {
  kNotRecorded = 0,  // in older records, when the report of one rank was enough
  kNobody = 1,       // this was the second reader, or the coordinator has read it already
  kAnotherNode = 2,
  kCoordinator = 3,
};

struct RankFailed {
  Epoch epoch = 0;
  int rank = 0;
  ExitCause cause = ExitCause::kUnspecified;
  std::string message;
  bool retry = true;
  Timestamp retry_at{};
  NextReader next_reader = NextReader::kNotRecorded;  // for a damaged checkpoint
};

// A cancelled run's ranks save the step in progress and leave; `now`: they leave at once. May
// follow one that said otherwise.
struct CancelRequested {
  bool now = false;
};

struct CheckpointSealed {
  Epoch epoch = 0;
  WrittenCheckpoint checkpoint;
};

struct CheckpointRetired {
  int64_t step = 0;
  std::string directory;
};

// Somebody else read whole what a rank had said is damaged.
struct CheckpointVerified {
  int64_t step = 0;
  std::string text;
};

// Two readers agree: it leaves the catalogue, and its directory goes into quarantine.
struct CheckpointDamaged {
  int64_t step = 0;
  std::string reason;
};

// Read whole by the coordinator, at a person's request: it is back in the catalogue.
struct CheckpointRestored {
  int64_t step = 0;
};

struct RunFinishing {
  Epoch epoch = 0;
};

struct RunEnded {
  RunState state = RunState::kUnspecified;
  std::string reason;
  bool set_aside = false;  // wherever it was: a mistake of ours keeps it from going on
};

// A rank measured something that a person should look at.
struct RunWarned {
  Epoch epoch = 0;
  int64_t step = 0;
  std::string text;
};

// Somebody stopped a rank: a node or a trainer is going away. Nothing failed; the run waits for
// slots again and goes on from its newest checkpoint.
struct RunRequeued {
  Epoch epoch = 0;
  std::string reason;
};

// ---- Volatile ----

// An agent said hello on a new stream (`session`), with what runs there now.
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
};

// The coordinator has read the checkpoint that the run's suspicion is about.
struct CheckpointRead {
  int64_t step = 0;
  Verdict verdict = Verdict::kUnreadable;
  std::string text;
};

// Why a run still waits, or what it cannot go on without while it runs.
struct RunWaiting {
  std::string reason;
};

// The coordinator is awake. Leases age only between ticks that follow one another closely, and
// while what the agents send is read soon.
struct Tick {
  Instant now;
  std::chrono::nanoseconds unread{0};  // as in Now
};

using EventBody =
    std::variant<RunSubmitted, RunQueued, RunPlaced, RunGroupReady, RunStarted, RankFailed,
                 CancelRequested, CheckpointSealed, CheckpointRetired, RunFinishing, RunEnded,
                 RunWarned, CheckpointVerified, CheckpointDamaged, CheckpointRestored, RunRequeued,
                 NodeConnected, NodeDisconnected, NodeReported, CheckpointRead, RunWaiting, Tick>;

struct Event {
  RunId run;  // empty for events of nodes and ticks
  Timestamp at{};
  std::string actor;  // "user", "scheduler", "node <name>"
  std::string request_id;
  EventBody body;
};

bool IsDurable(const Event& event);
// The node whose agent the event tells about; empty for other events.
NodeId NodeOf(const Event& event);
// "rank_failed", as gpctl events prints it.
std::string_view Kind(const Event& event);

}  // namespace gp::coordinator
