// ReservedPlaces: what the submits in progress will add to the runs or trials of each user, so that
// submits at the same time do not exceed a quota together. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"

namespace gp::coordinator {

class ReservedPlaces {
 public:
  // `count` of a user's places, until Release or destruction.
  class Place {
   public:
    Place(ReservedPlaces& places, std::string user, int count)
        : places_(places), user_(std::move(user)), count_(count) {}
    ~Place() { Release(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    void Release();

   private:
    ReservedPlaces& places_;
    const std::string user_;
    const int count_;
    std::atomic<bool> released_ = false;
  };

  // Reserves `count` places if `check` agrees; it gets the number that the user has reserved
  // already. It runs under the lock under which places are released, and these are released only
  // when what they stand for is in the cluster or was refused. So if it takes a snapshot of the
  // cluster, each run and trial is counted there or by its place. This object must outlive the
  // places.
  StatusOr<std::shared_ptr<Place>> Reserve(const std::string& user, int count,
                                           const std::function<Status(int reserved)>& check);

 private:
  Mutex mutex_;
  std::map<std::string, int> reserved_ GUARDED_BY(mutex_);  // by user
};

}  // namespace gp::coordinator
