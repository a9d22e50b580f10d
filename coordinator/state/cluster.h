// Cluster: the whole state of the coordinator as one value. Each turn the Reconciler changes a copy
// (control/batch.h) and publishes it as shared_ptr<const Cluster>; a published one never changes. A
// copy shares all runs, requests and nodes; only the maps of live runs and of nodes are duplicated.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "coordinator/state/deleted_run.h"
#include "coordinator/state/event.h"
#include "coordinator/state/ids.h"
#include "coordinator/state/node.h"
#include "coordinator/state/run.h"
#include "coordinator/state/run_counts.h"
#include "coordinator/state/run_tally.h"
#include "coordinator/state/sharded_map.h"
#include "coordinator/state/sweep.h"

namespace gp::coordinator {

// The answer that the request id of a submit or of a deletion already got.
struct AnsweredRequest {
  RunId run;
  std::string body_digest;  // of a deletion: kDeletionDigest
};

inline constexpr char kDeletionDigest[] = "deletion";

struct Cluster {
  ShardedMap<RunId, std::shared_ptr<const Run>> runs;  // all runs that are not deleted
  ShardedMap<RunId, std::shared_ptr<const DeletedRun>> deleted;
  // The runs that began from a checkpoint of the run, by the parent's id; the parent may be
  // deleted.
  ShardedMap<RunId, std::set<RunId>> children;
  ShardedMap<std::string, AnsweredRequest> requests;
  std::map<uint64_t, RunId> live;  // runs that are not terminal, by submitted_sequence
  std::map<uint64_t, RunId>
      busy;          // live runs that left the queue at least once; few even when the queue is long
  RunTally tally;    // of live runs
  RunCounts counts;  // of all runs
  ShardedMap<std::string, std::set<RunId>> live_names;  // live runs by "namespace/name"
  // How many runs may still begin from the model in this directory (AwaitedModel).
  std::map<std::string, int> awaited_models;
  std::map<NodeId, std::shared_ptr<const Node>> nodes;
  // Those that have not ended, and the newest of the ended ones (sweep_events.h).
  ShardedMap<SweepId, std::shared_ptr<const Sweep>> sweeps;
  std::map<uint64_t, SweepId> live_sweeps;   // those that have not ended, by submitted_sequence
  std::map<uint64_t, SweepId> ended_sweeps;  // the others, by ended_sequence
  ShardedMap<std::string, SweepId> sweep_requests;  // by the request id of the submit
  // Runs that cannot continue because of a bug in the coordinator or a damaged store, and the
  // problem. The next batch ends them as failed.
  std::map<RunId, std::string> faulty;
  uint64_t last_sequence = 0;  // number of the newest durable event
  uint64_t version = 0;        // grows with every event applied by this process

  Instant now{};          // time of the newest tick
  Instant leases_from{};  // leases count from here at the earliest

  // Adds the run, or replaces it, here and in everything above that counts or lists runs.
  void Set(Run run);
  // Moves a run that has ended to `deleted`. REQUIRES: `run` is in `runs`.
  void Delete(const Run& run, DeletedRun deletion);
  // Null if there is none.
  std::shared_ptr<const Run> FindRun(const RunId& id) const;
  // Null if there is none, or the run was not deleted.
  std::shared_ptr<const DeletedRun> FindDeleted(const RunId& id) const;
  // The run, also a deleted one of which checkpoints are kept; otherwise null.
  std::shared_ptr<const Run> FindRunOrKept(const RunId& id) const;
  // The runs that began from a checkpoint of this one and are not deleted.
  std::set<RunId> ChildrenOf(const RunId& id) const;
  // The ids of the live runs with this name, or null. Only a state of an older version, which
  // allowed duplicate names, can have several.
  const std::set<RunId>* LiveRunsNamed(const std::string& run_namespace,
                                       const std::string& name) const;
  std::shared_ptr<const Node> FindNode(const NodeId& id) const;
  // Null if there is none.
  std::shared_ptr<const Sweep> FindSweep(const SweepId& id) const;
  std::string NodeName(const NodeId& id) const;
};

// The report on a rank of the run's newest epoch; null if its node has none. A process that
// continues from an earlier epoch is found by its incarnation: until its agent has the new
// assignment, it reports the earlier epoch.
const RankReport* FindReport(const Node& node, const Run& run, const Placement& place);
// The same for the node of `place`, which may be unknown.
const RankReport* FindReport(const Cluster& cluster, const Run& run, const Placement& place);

// Leases start again when two ticks are further apart than this (the coordinator was suspended or
// stopped), or when input waited for longer than this (the coordinator was too busy to read).
constexpr std::chrono::nanoseconds kStallLimit = std::chrono::seconds(1);

// Changes `cluster` by one event. A durable event takes the next sequence number.
// FailedPrecondition, and no change, when the event is impossible in this state: the coordinator
// has a bug, or the store was modified.
Status Apply(const Event& event, Cluster& cluster);

}  // namespace gp::coordinator
