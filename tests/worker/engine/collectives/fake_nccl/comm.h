// ncclComm: one rank's communicator in the fake. Posted work runs on its own thread, in order. The
// emulated streams are always idle, so posted work counts as "in progress", which NCCL may report
// for any call to a non-blocking communicator, until it is complete. Any thread may call.
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

// Messages that move together, and the function for the received data.
struct FakeWork {
  std::vector<gp::fake_nccl::Message> messages;
  std::vector<std::function<void()>> finish;
};

struct ncclComm {
 public:
  ncclComm(std::unique_ptr<gp::fake_nccl::Clique> clique, int rank, int ranks);
  // Aborts running work, and leaves.
  ~ncclComm();
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  // ncclInProgress until all that was posted is complete; an error is final.
  ncclResult_t state() const { return state_; }
  const char* last_error() const;

  // Why nothing may be posted now; ncclSuccess when it may.
  ncclResult_t Admit();
  void Post(FakeWork work);
  // From now on as with a kernel that waits for a peer: only Abort ends it.
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
  std::deque<FakeWork> work_;  // under mutex_
  std::string last_error_;     // under mutex_ until state_ is an error
  std::thread thread_;
};
