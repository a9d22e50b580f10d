// ncclComm: one rank's communicator in the fake. Posted work runs in order on its own thread. The
// emulated streams are always idle, so posted work counts as "in progress" until it is complete;
// NCCL may report this for any call to a non-blocking communicator. Thread-safe.
#pragma once

#include <nccl.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "worker/engine/collectives/fake_nccl/clique.h"
#include "worker/engine/collectives/fake_nccl/exchange.h"

// Messages that are exchanged together, and functions to call when all have arrived.
struct FakeWork {
  std::vector<gp::fake_nccl::Message> messages;
  std::vector<std::function<void()>> finish;
};

struct ncclComm {
 public:
  ncclComm(std::unique_ptr<gp::fake_nccl::Clique> clique, int rank, int ranks);
  // Aborts running work and leaves the clique.
  ~ncclComm();
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  // ncclInProgress until all posted work is complete; an error is final.
  ncclResult_t state() const { return state_; }
  const char* last_error() const;

  // ncclSuccess if work can be posted now; otherwise the reason.
  ncclResult_t Admit();
  void Post(FakeWork work);
  // From now on, behaves like a kernel that waits for a peer forever: only Abort ends it.
  void Hang() { state_ = ncclInProgress; }
  uint64_t NextNumber() { return ++collectives_; }

 private:
  void Run();
  void Meet();
  void Do(const FakeWork& work);
  bool Take(FakeWork& work);
  void Fail(ncclResult_t result, const std::string& why);
  void CheckAborted() const;

  const std::unique_ptr<gp::fake_nccl::Clique> clique_;
  const int rank_;
  const int ranks_;
  uint64_t collectives_ = 0;
  std::atomic<ncclResult_t> state_ = ncclInProgress;
  std::atomic<bool> aborted_ = false;
  mutable std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<FakeWork> work_;  // guarded by mutex_
  std::string last_error_;     // guarded by mutex_ until state_ is an error
  std::thread thread_;
};
