// NcclConnection: one rank's ncclComm_t, non-blocking, with NCCL's states and errors as exceptions:
// nothing waits for longer than the timeout, a fault that NCCL finds in the background is found by
// whoever waits, and after a fault or Abort the communicator is gone and everything throws. One
// thread issues and waits; Abort may come from any.
#pragma once

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "worker/engine/collectives/communicator.h"
#include "worker/engine/collectives/nccl_api.h"

namespace gp::engine {

class NcclConnection {
 public:
  // Connects the group; `id` is what rank 0 made. CollectiveError after options.connect_timeout,
  // and when `stop` is requested.
  NcclConnection(const NcclApi& api, const GroupOptions& options, const ncclUniqueId& id,
                 const std::stop_token& stop);
  // Lets the peers finish what was issued, for a moment.
  ~NcclConnection();
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;

  const NcclApi& api() const { return api_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  // Calls NCCL and returns when it has put the work into the stream, which is soon: on a device it
  // begins and ends later. Several calls of one group begin together.
  using Call = std::function<ncclResult_t(ncclComm_t)>;
  void Issue(const char* operation, const Call& call);
  void IssueGroup(const char* operation, const std::vector<Call>& calls);

  // Returns when done() says so.
  void Wait(const char* operation, const std::function<bool()>& done);

  // Throws when aborted or failed.
  void Check(const char* operation);

  void SetTimeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }
  void Abort(const std::string& reason);

 private:
  bool TookEverything(const char* operation);
  bool Finalized();
  void Poll(const char* operation, std::chrono::milliseconds timeout,
            const std::function<bool()>& done);
  [[noreturn]] void Fail(const char* operation, const std::string& why);
  std::string Describe(ncclResult_t result) const;
  void Sever(const std::string& reason);

  const NcclApi& api_;
  const int rank_;
  const int size_;
  const uint64_t epoch_;
  std::atomic<std::chrono::milliseconds> timeout_;
  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;  // under mutex_; null once it is gone
  std::string broken_;         // under mutex_; why it is gone
};

}  // namespace gp::engine
