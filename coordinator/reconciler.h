// Reconciler: the one thread that owns the cluster. It takes up to 256 messages, applies them and
// the plan that follows to a copy, checks the invariants, makes the durable events durable in one
// transaction, publishes the copy and then answers the callers. A run that breaks an invariant is
// set aside, and the turn is taken again. Built and stopped by the daemon; every other method may
// be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "coordinator/batch.h"
#include "coordinator/intake.h"
#include "coordinator/store/store.h"

namespace gp::coordinator {

// What one turn changed.
struct PublishedBatch {
  std::shared_ptr<const Cluster> cluster;  // as it is now
  std::vector<StoredEvent> events;         // the durable ones
  std::set<RunId> runs;                    // about which something else is to be told than before
  std::set<NodeId> nodes;  // whose agents may have to be told something else than before
};

// Told of every published batch, on the Reconciler's thread: quick, or hands over to a thread of
// its own.
class BatchObserver {
 public:
  virtual ~BatchObserver() = default;
  virtual void OnBatch(const PublishedBatch& batch) = 0;
};

struct ReconcilerOptions {
  Policy policy;
  std::chrono::nanoseconds tick = std::chrono::milliseconds(100);
  size_t batch_max = 256;
  Intake::Limits intake;
  // For how long what the agents send may have waited to be read; empty: it never waits. Leases do
  // not age while it is long.
  std::function<std::chrono::nanoseconds()> unread;
  // Measures the durable writes, in seconds; may be empty.
  std::function<void(double)> on_store_write;
  // The outcome of a write is unknown, or another coordinator took over: the process must end,
  // acknowledging nothing.
  std::function<void(const Status&)> on_fatal;
};

class Reconciler {
 public:
  using Done = Intake::Done;

  // `cluster` is what the store remembers.
  Reconciler(Store& store, Clock& clock, BatchObserver& observer, Cluster cluster,
             ReconcilerOptions options);
  ~Reconciler();

  void Start();
  // Finishes the batch in progress; requests that wait are refused. Idempotent.
  void Stop();

  // A user's request. Refused with Unavailable when too many wait already.
  void Request(Event event, Done done);
  // What an agent said: of its node, or a run's warning. Or what the coordinator read of a
  // checkpoint. False when too much waits already.
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

  // What a turn would change, and what it would answer.
  struct Turn {
    Batch batch;
    std::vector<Answer> answers;
  };

  void Loop(const std::stop_token& stop);
  // Takes the turn on copies until no run breaks an invariant.
  Turn Try(const std::vector<Message>& messages) const;
  Turn Try(const std::vector<Message>& messages, const Now& now, const Batch::Faults& faults) const;
  // Makes the batch durable. An error: the store could not take it, nothing of it may become
  // visible.
  Status Commit(const Batch& batch);
  void Publish(Batch& batch);
  // The disk is full: reports still count, requests are refused, plans wait.
  void CommitVolatile(const std::vector<Message>& messages, const Status& why);
  Now ReadClock() const;

  Store& store_;
  Clock& clock_;
  BatchObserver& observer_;
  const ReconcilerOptions options_;
  Intake intake_;
  std::shared_ptr<const Cluster> cluster_;  // of the Reconciler's thread
  bool store_is_full_ = false;              // of the Reconciler's thread

  mutable Mutex mutex_;
  std::shared_ptr<const Cluster> snapshot_ GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace gp::coordinator
