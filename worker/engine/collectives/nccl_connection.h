// NcclConnection: one rank's ncclComm_t, non-blocking, with NCCL's states and errors as exceptions:
// no call waits longer than the timeout; a call that waits throws a fault that NCCL finds in the
// background; after a fault or Abort the communicator is destroyed and every call throws. One
// thread issues and waits; Abort may be called from any.
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
  // Connects the group; rank 0 made `id`. CollectiveError after options.connect_timeout, and when
  // `stop` is requested.
  NcclConnection(const NcclApi& api, const GroupOptions& options, const ncclUniqueId& id,
                 const std::stop_token& stop);
  // Waits at most 2 s so that the peers can finish issued work.
  ~NcclConnection();
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;

  const NcclApi& api() const { return api_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  // Calls NCCL and returns when the work is in the stream, which is soon; the device runs it later.
  // The calls of one group begin together.
  using Call = std::function<ncclResult_t(ncclComm_t)>;
  void Issue(const char* operation, const Call& call);
  void IssueGroup(const char* operation, const std::vector<Call>& calls);

  // Returns once done() is true.
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
