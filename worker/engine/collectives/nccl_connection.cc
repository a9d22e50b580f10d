#include "worker/engine/collectives/nccl_connection.h"

#include <thread>

#include "base/machine/progress.h"

namespace gp::engine {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How long an exiting rank waits for its peers. Data that they still read arrive in far less time.
constexpr milliseconds kFarewell{2000};
// A wait spins for this long, because a short wait must not sleep. Then it sleeps, because a long
// wait must not use a core.
constexpr microseconds kSpin{200};
constexpr microseconds kNap{50};

ncclConfig_t NonBlocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

bool IsTaken(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }

}  // namespace

NcclConnection::NcclConnection(const NcclApi& api, const GroupOptions& options,
                               const ncclUniqueId& id, const std::stop_token& stop)
    : api_(api),
      rank_(options.rank),
      size_(static_cast<int>(options.addresses.size())),
      epoch_(options.epoch),
      timeout_(options.timeout) {
  constexpr char kOperation[] = "connecting through NCCL";
  const std::stop_callback abort(stop, [this] { Abort("forming the group was aborted"); });
  {
    std::lock_guard lock(mutex_);
    if (broken_.empty()) {
      ncclConfig_t config = NonBlocking();
      const ncclResult_t result = api_.init_rank(&comm_, size_, id, rank_, &config);
      if (!IsTaken(result)) {
        comm_ = nullptr;
        broken_ = Describe(result);
      }
    }
  }
  Poll(kOperation, options.connect_timeout, [&] { return TookEverything(kOperation); });
}

NcclConnection::~NcclConnection() {
  {
    std::lock_guard lock(mutex_);
    if (comm_ == nullptr || !IsTaken(api_.finalize(comm_))) {
      Sever("it failed");
      return;
    }
  }
  const auto deadline = steady_clock::now() + kFarewell;
  bool finalized = Finalized();
  for (; !finalized && steady_clock::now() < deadline; finalized = Finalized()) {
    std::this_thread::sleep_for(kNap);
  }
  std::lock_guard lock(mutex_);
  // NCCL frees nothing of a communicator that is still working, and the next call that frees device
  // memory would wait for its kernels.
  if (!finalized) Sever("it was still waiting for a peer when it ended");
  if (comm_ != nullptr) api_.destroy(comm_);
}

// Whether NCCL has finished its work. Aborts a communicator that failed while it ended.
bool NcclConnection::Finalized() {
  std::lock_guard lock(mutex_);
  ncclResult_t state = ncclSuccess;
  const bool known = comm_ != nullptr && api_.get_async_error(comm_, &state) == ncclSuccess;
  if (known && state == ncclInProgress) return false;
  if (!known || state != ncclSuccess) Sever("it failed");
  return true;
}

void NcclConnection::Issue(const char* operation, const Call& call) {
  IssueGroup(operation, {call});
}

void NcclConnection::IssueGroup(const char* operation, const std::vector<Call>& calls) {
  Check(operation);
  if (calls.empty()) return;
  {
    std::unique_lock lock(mutex_);
    ncclResult_t result = comm_ == nullptr ? ncclInvalidUsage : api_.group_start();
    if (result == ncclSuccess) {
      for (const Call& call : calls) {
        if (IsTaken(result)) result = call(comm_);
      }
      const ncclResult_t ended = api_.group_end();
      if (IsTaken(result)) result = ended;
    }
    if (!IsTaken(result)) {
      const std::string why = Describe(result);
      lock.unlock();
      Fail(operation, why);
    }
  }
  Poll(operation, timeout_, [&] { return TookEverything(operation); });
}

void NcclConnection::Wait(const char* operation, const std::function<bool()>& done) {
  Poll(operation, timeout_, [&] {
    const bool complete = done();
    TookEverything(operation);  // throws its errors
    return complete;
  });
}

void NcclConnection::Check(const char* operation) { TookEverything(operation); }

// Whether NCCL has put all issued work into the stream. Throws errors that NCCL found in the
// background.
bool NcclConnection::TookEverything(const char* operation) {
  std::string why;
  {
    std::lock_guard lock(mutex_);
    if (comm_ == nullptr) {
      why = broken_;
    } else {
      ncclResult_t state = ncclSuccess;
      const ncclResult_t asked = api_.get_async_error(comm_, &state);
      if (asked == ncclSuccess && IsTaken(state)) return state == ncclSuccess;
      why = Describe(asked == ncclSuccess ? state : asked);
    }
  }
  Fail(operation, why);
}

void NcclConnection::Poll(const char* operation, milliseconds timeout,
                          const std::function<bool()>& done) {
  const progress::Awaiting waiting(progress::Wait::kPeer);
  const auto start = steady_clock::now();
  while (!done()) {
    const auto waited = steady_clock::now() - start;
    if (waited > timeout) {
      Fail(operation, "not complete after " + std::to_string(timeout.count()) +
                          " ms: a rank hangs or never connected");
    }
    if (waited < kSpin) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
}

void NcclConnection::Abort(const std::string& reason) {
  std::lock_guard lock(mutex_);
  Sever("aborted: " + reason);
}

// REQUIRES: mutex_. Also ends NCCL's work on the device; calls that wait then throw.
void NcclConnection::Sever(const std::string& reason) {
  if (broken_.empty()) broken_ = reason;
  if (comm_ == nullptr) return;
  api_.abort(comm_);
  comm_ = nullptr;
}

void NcclConnection::Fail(const char* operation, const std::string& why) {
  {
    std::lock_guard lock(mutex_);
    Sever(why);
  }
  throw CollectiveError(std::string(operation) + ", rank " + std::to_string(rank_) + " of epoch " +
                        std::to_string(epoch_) + ": " + why);
}

// REQUIRES: mutex_.
std::string NcclConnection::Describe(ncclResult_t result) const {
  std::string text = std::string("NCCL: ") + api_.error_string(result);
  const char* details = api_.last_error(comm_);
  if (details != nullptr && *details != '\0') text += std::string(": ") + details;
  return text;
}

}  // namespace gp::engine
