// CallLimits: how much one user may ask for, so that one token cannot keep the coordinator busy for
// all others. The owner of the socket and nodes have no such limits. Owned by the gate;
// thread-safe.
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
  // `clock` outlives the limits and the places.
  CallLimits(const Clock& clock, const CallLimitsOptions& options)
      : clock_(clock), options_(options) {}

  // Counts a call. ResourceExhausted if `user` made too many calls lately; names the setting.
  Status AdmitCall(const std::string& user);
  // Reserves a place for a stream until the pointer is destroyed. ResourceExhausted if `user` has
  // no place left. The limits outlive the places.
  StatusOr<std::shared_ptr<void>> ReserveStream(const std::string& user);

 private:
  struct Usage {
    double calls_left = 0;
    MonotonicTime filled_at;
    int streams = 0;
  };

  Usage& Refill(const std::string& user) REQUIRES(mutex_);
  void GiveBack(const std::string& user);
  // Users who have not called for a while need no entry.
  void ForgetTheIdle() REQUIRES(mutex_);

  const Clock& clock_;
  const CallLimitsOptions options_;
  Mutex mutex_;
  std::map<std::string, Usage> users_ GUARDED_BY(mutex_);
};

}  // namespace gp::coordinator
