// Reconciler: the one thread that owns the cluster. In each turn, at least every `tick`, it takes
// about 256 messages, applies them and the plan that follows to a copy, checks the invariants,
// makes the durable events durable in one transaction, publishes the copy and then answers the
// callers. If a run breaks an invariant, the turn starts again with that run set aside. Built and
// stopped by the daemon; every other method may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "coordinator/control/batch.h"
#include "coordinator/control/intake.h"
#include "coordinator/store/store.h"

namespace gp::coordinator {

// The changes of one turn.
struct PublishedBatch {
  std::shared_ptr<const Cluster> cluster;  // the new state
  std::vector<StoredEvent> events;         // the durable ones
  std::set<RunId> runs;                    // runs that an event named
  std::set<NodeId> nodes;                  // nodes whose agents may need a new assignment
};

// Called on the Reconciler's thread for every batch that changed anything except the time, after
// its events are durable and before requests are answered. So OnBatch must return quickly; slow
// work goes to another thread.
class BatchObserver {
 public:
  virtual ~BatchObserver() = default;
  virtual void OnBatch(const PublishedBatch& batch) = 0;
};

struct ReconcilerOptions {
  Policy policy;
  std::chrono::nanoseconds tick = std::chrono::milliseconds(100);  // longest wait for a message
  size_t batch_max = 256;
  Intake::Limits intake;
  // How long agents' messages may have waited unread; empty: they never wait. While this is longer
  // than kStallLimit, leases do not age, because the coordinator itself is late.
  std::function<std::chrono::nanoseconds()> unread;
  // Measures the durable writes, in seconds; may be empty.
  std::function<void(double)> on_store_write;
  // Called when the outcome of a write is unknown, or when another coordinator took over. The
  // process must then end without acknowledging anything.
  std::function<void(const Status&)> on_fatal;
};

class Reconciler {
 public:
  using Done = Intake::Done;

  // `cluster` is the state that was loaded from the store.
  Reconciler(Store& store, Clock& clock, BatchObserver& observer, Cluster cluster,
             ReconcilerOptions options);
  ~Reconciler();

  void Start();
  // Finishes the batch in progress; requests that wait are refused, other messages are dropped.
  // Idempotent.
  void Stop();

  // A user's request; see Intake::Done for the thread that calls `done`. Refused with Unavailable
  // when too many wait already or the Reconciler stops, and with ResourceExhausted when the store's
  // disk is full.
  void Request(Event event, Done done);
  // Takes an event without an answer: a node's state, a run's warning, or what the coordinator
  // found when it read a checkpoint. False when too many messages wait already or the Reconciler
  // stops.
  bool Post(Event event);

  // The newest published state; never null.
  std::shared_ptr<const Cluster> snapshot() const;

  // One turn; waits up to `timeout` for the first message. For tests that drive it by hand; not
  // with Start.
  void RunOnce(std::chrono::nanoseconds timeout);

 private:
  using Message = Intake::Message;
  struct Answer {
    Done done;
    StatusOr<Admission> admission;
  };

  // The changes of one turn, and its answers to requests.
  struct Turn {
    Batch batch;
    std::vector<Answer> answers;
  };

  void Loop(const std::stop_token& stop);
  // Takes the turn on copies until no run breaks an invariant.
  Turn Try(const std::vector<Message>& messages) const;
  Turn Try(const std::vector<Message>& messages, const Now& now, const Batch::Faults& faults) const;
  // Makes the batch durable. On an error the store did not take it, so no part of it may become
  // visible.
  Status Commit(const Batch& batch);
  void Publish(Batch& batch);
  // The turn when the disk is full: it applies reports, refuses requests, drops warnings and makes
  // no plans.
  void CommitVolatile(const std::vector<Message>& messages, const Status& why);
  Now ReadClock() const;

  Store& store_;
  Clock& clock_;
  BatchObserver& observer_;
  const ReconcilerOptions options_;
  Intake intake_;
  std::shared_ptr<const Cluster> cluster_;  // used by the Reconciler's thread only
  bool store_is_full_ = false;              // used by the Reconciler's thread only

  mutable Mutex mutex_;
  std::shared_ptr<const Cluster> snapshot_ GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace gp::coordinator
