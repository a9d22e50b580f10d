// Policy: the settings of the scheduler; every duration with its reason. lease, start_timeout,
// finish_timeout and encrypt_gradients come from the daemon's settings (coordinator/settings.h);
// the others are fixed. A value.
#pragma once

#include <chrono>

namespace gp::coordinator {

struct Policy {
  // An agent that is silent for this long counts as lost, with its ranks. Several report intervals
  // long, so that a short stall of a loaded machine does not restart a run.
  std::chrono::nanoseconds lease = std::chrono::seconds(10);
  // Limit from placement until every rank is ready. Most of the time is reading and tokenizing
  // data.
  std::chrono::nanoseconds start_timeout = std::chrono::minutes(15);
  // Limit from the sealed final checkpoint to the exit of every rank. After it the run counts as
  // succeeded even if a rank has not exited.
  std::chrono::nanoseconds finish_timeout = std::chrono::seconds(30);
  // When a rank of a running group was stopped: how long to wait for the exit of the other ranks
  // before the run is requeued. In this time the ranks agree on their last step, and rank 0 saves
  // it. Long, because a slow save is worth waiting for. Agents limit the time for the ranks that
  // they stop themselves.
  std::chrono::nanoseconds leave_timeout = std::chrono::minutes(5);
  // When every rank that failed reports only that it lost a peer: how long to wait for the peer's
  // own report before one of these ranks is blamed.
  std::chrono::nanoseconds blame_delay = std::chrono::seconds(1);
  // Limit from RunReconfigured until every member is ready. The members have their state and only
  // connect, so one that takes longer will not come, and all start again from a checkpoint.
  std::chrono::nanoseconds regroup_timeout = std::chrono::seconds(5);
  // How long a rank that is ready to join waits for others that are starting, so that they join
  // together: each change of the group costs its ranks the step in flight.
  std::chrono::nanoseconds join_gather = std::chrono::milliseconds(300);
  // Wait after a joiner failed, before another one is started; it doubles with each failure in a
  // row.
  std::chrono::nanoseconds join_pause = std::chrono::seconds(1);
  std::chrono::nanoseconds join_pause_max = std::chrono::minutes(1);
  // How long a run avoids a node on which its data was missing, while other nodes have it. Long
  // compared with the start of a rank, so that retries cost little; a node that reconnects is tried
  // at once.
  std::chrono::nanoseconds data_recheck = std::chrono::minutes(10);
  // The ranks of groups that form from now on encrypt what they send each other.
  bool encrypt_gradients = false;
};

}  // namespace gp::coordinator
