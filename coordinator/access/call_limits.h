// CallLimits: how many calls and streams one token may make, so that it cannot keep the coordinator
// busy for all others. Two tokens of one user are counted apart; runs are counted per user
// (service/quota/run_quota.h). The owner of the socket and nodes have no such limits. Owned by the
// gate; thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"

namespace gp::coordinator {

struct CallLimitsOptions {
  int calls_per_second = 100;  // and a burst of twice as many after a pause
  int streams = 64;            // open at a time
};

class CallLimits {
 public:
  // `clock` must outlive this object and the places.
  CallLimits(const Clock& clock, const CallLimitsOptions& options)
      : clock_(clock), options_(options) {}

  // Counts a call. ResourceExhausted if the token made too many calls lately; names the setting.
  Status AdmitCall(const std::string& token_id);
  // Reserves a place for a stream until the pointer is destroyed. ResourceExhausted if the token
  // has no place left. This object must outlive the places.
  StatusOr<std::shared_ptr<void>> ReserveStream(const std::string& token_id);

 private:
  struct Usage {
    double calls_left = 0;
    MonotonicTime filled_at;
    int streams = 0;
  };

  Usage& Refill(const std::string& token_id) REQUIRES(mutex_);
  void GiveBack(const std::string& token_id);
  // A token without streams that was not used for two seconds needs no entry.
  void ForgetTheIdle() REQUIRES(mutex_);

  const Clock& clock_;
  const CallLimitsOptions options_;
  Mutex mutex_;
  std::map<std::string, Usage> tokens_ GUARDED_BY(mutex_);
};

}  // namespace gp::coordinator
