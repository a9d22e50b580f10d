#include "worker/engine/collectives/fake_nccl/comm.h"

#include <chrono>

using gp::fake_nccl::Exchange;
using gp::fake_nccl::ExchangeError;
using gp::fake_nccl::Presence;

namespace {

constexpr std::chrono::microseconds kNap{30};
// Yields before sleeping, because peers are threads or processes of a busy machine.
constexpr int kYields = 50;

struct Aborted {};

// Yields the processor; once nothing has moved for a while, sleeps.
class Patience {
 public:
  void Moved() { idle_ = 0; }
  // Waits; true if it is time to check whether the peers are alive.
  bool Wait() {
    if (++idle_ < kYields) {
      std::this_thread::yield();
      return false;
    }
    std::this_thread::sleep_for(kNap);
    return true;
  }

 private:
  int idle_ = 0;
};

}  // namespace

ncclComm::ncclComm(std::unique_ptr<gp::fake_nccl::Clique> clique, int rank, int ranks)
    : clique_(std::move(clique)), rank_(rank), ranks_(ranks), thread_([this] { Run(); }) {}

ncclComm::~ncclComm() {
  {
    std::lock_guard lock(mutex_);
    aborted_ = true;
  }
  posted_.notify_all();
  thread_.join();
}

const char* ncclComm::last_error() const {
  const ncclResult_t now = state_;
  return now == ncclSuccess || now == ncclInProgress ? "" : last_error_.c_str();
}

ncclResult_t ncclComm::Admit() {
  return state_ == ncclInProgress ? ncclInvalidArgument : state_.load();
}

void ncclComm::Post(FakeWork work) {
  std::lock_guard lock(mutex_);
  ncclResult_t idle = ncclSuccess;
  state_.compare_exchange_strong(idle, ncclInProgress);
  work_.push_back(std::move(work));
  posted_.notify_all();
}

void ncclComm::Run() {
  try {
    Meet();
    for (FakeWork work; Take(work);) Do(work);
  } catch (const ExchangeError& error) {
    Fail(error.remote ? ncclRemoteError : ncclInternalError, error.what());
  } catch (const Aborted&) {
  }
  // Keep the place until the communicator is destroyed, so that errors can still be queried.
  std::unique_lock lock(mutex_);
  posted_.wait(lock, [this] { return aborted_.load(); });
  lock.unlock();
  clique_->Leave();
}

void ncclComm::CheckAborted() const {
  if (aborted_) throw Aborted();
}

// Joins and returns once every rank has joined.
void ncclComm::Meet() {
  if (!clique_->Join(rank_, ranks_)) {
    throw ExchangeError(false, "rank " + std::to_string(rank_) + " of " + std::to_string(ranks_) +
                                   " does not fit the ranks that are there");
  }
  Patience patience;
  for (int peer = 0; peer < ranks_; ++peer) {
    while (clique_->PresenceOf(peer) == Presence::kAbsent) {
      CheckAborted();
      patience.Wait();
    }
  }
  std::lock_guard lock(mutex_);
  if (work_.empty()) state_ = ncclSuccess;
}

bool ncclComm::Take(FakeWork& work) {
  std::unique_lock lock(mutex_);
  posted_.wait(lock, [this] { return aborted_ || !work_.empty(); });
  if (aborted_) return false;
  work = work_.front();
  return true;
}

void ncclComm::Do(const FakeWork& work) {
  Exchange exchange(*clique_, work.messages);
  Patience patience;
  while (!exchange.done()) {
    CheckAborted();
    if (exchange.Advance()) {
      patience.Moved();
    } else if (patience.Wait()) {
      // A peer may have sent data before it left, so look once more before giving up.
      try {
        exchange.CheckPeers();
      } catch (const ExchangeError&) {
        if (!exchange.Advance()) throw;
      }
    }
  }
  for (const auto& finish : work.finish) finish();
  std::lock_guard lock(mutex_);
  work_.pop_front();
  if (work_.empty()) state_ = ncclSuccess;
}

void ncclComm::Fail(ncclResult_t result, const std::string& why) {
  std::lock_guard lock(mutex_);
  last_error_ = why;
  state_ = result;
}
