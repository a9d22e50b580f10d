// Intake: the messages that wait for the Reconciler. They wait in lanes, so that no lane can fill
// or delay another.
//
//   requests  of users, answered one by one; refused when the lane is full
//   nodes     messages of agents, by node: a newer message replaces an older queued one of its
//             kind, because every hello and report carries the node's full state; a hello also
//             removes all older messages of its node; the lane is full at `nodes` different nodes
//   findings  about runs: warnings, and verdicts on checkpoints that the coordinator has read;
//             refused when the lane is full
// Owned by the Reconciler, whose thread calls Take; the other methods may be called from any
// thread.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "coordinator/state/admission.h"
#include "coordinator/state/event.h"

namespace gp::coordinator {

class Intake {
 public:
  // Called once: on the Reconciler's thread when the request is durable or refused; on the caller's
  // thread when the lane is full or closed; on the thread that calls Reconciler::Stop when the
  // request still waits then.
  using Done = std::function<void(const StatusOr<Admission>&)>;
  struct Message {
    Event event;
    Done done;  // empty for messages of agents and for findings
  };
  struct Limits {
    size_t requests = 1024;
    size_t nodes = 65536;
    size_t findings = 1024;
  };

  explicit Intake(const Limits& limits) : limits_(limits) {}

  // These three return false when the lane is full or closed; PostRequest then leaves `message`
  // untouched.
  bool PostRequest(Message& message) EXCLUDES(mutex_);
  // NodeConnected, NodeReported or NodeDisconnected. True also for a message of an older stream,
  // which is dropped.
  bool PostNode(Event event) EXCLUDES(mutex_);
  bool PostFinding(Event event) EXCLUDES(mutex_);

  // Takes from each lane in turn, about `count_max` messages in all: all waiting messages of one
  // node, in order, then one finding, then one request. Waits up to `timeout` for the first
  // message. Empty after the timeout, or when the intake is closed and drained.
  std::vector<Message> Take(size_t count_max, std::chrono::nanoseconds timeout) EXCLUDES(mutex_);

  // Later posts fail; messages that wait can still be taken.
  void Close() EXCLUDES(mutex_);

 private:
  // The newest event of each kind from one agent stream (`session`) that still waits.
  struct NodeWords {
    uint64_t session = 0;
    std::optional<Event> connected;
    std::optional<Event> reported;
    std::optional<Event> disconnected;
  };

  bool empty() const REQUIRES(mutex_);
  void TakeNode(std::vector<Message>& messages) REQUIRES(mutex_);

  const Limits limits_;
  Mutex mutex_;
  CondVar arrived_;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::deque<Message> requests_ GUARDED_BY(mutex_);
  std::map<NodeId, NodeWords> nodes_ GUARDED_BY(mutex_);
  // In the order of each node's oldest waiting event.
  std::deque<NodeId> node_order_ GUARDED_BY(mutex_);
  std::deque<Event> findings_ GUARDED_BY(mutex_);
};

}  // namespace gp::coordinator
