#include "coordinator/service/quota/reserved_places.h"

namespace gp::coordinator {

StatusOr<std::shared_ptr<ReservedPlaces::Place>> ReservedPlaces::Reserve(
    const std::string& user, int count, const std::function<Status(int reserved)>& check) {
  MutexLock lock(mutex_);
  const auto held = reserved_.find(user);
  RETURN_IF_ERROR(check(held == reserved_.end() ? 0 : held->second));
  reserved_[user] += count;
  return std::make_shared<Place>(*this, user, count);
}

void ReservedPlaces::Place::Release() {
  if (released_.exchange(true)) return;
  MutexLock lock(places_.mutex_);
  const auto held = places_.reserved_.find(user_);
  held->second -= count_;
  if (held->second == 0) places_.reserved_.erase(held);
}

}  // namespace gp::coordinator
