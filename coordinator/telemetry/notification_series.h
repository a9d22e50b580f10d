// NotificationSeries: the metrics of notifications, by target. Thread-safe; owned by
// CoordinatorMetrics.
#pragma once

#include <cstdint>
#include <string>

namespace prometheus {
class Counter;
class Gauge;
template <typename T>
class Family;
class Registry;
}  // namespace prometheus

namespace gp::coordinator {

class NotificationSeries {
 public:
  // The registry must outlive this object.
  explicit NotificationSeries(prometheus::Registry& registry);

  // Creates the target's series, so that Prometheus sees its first failure as an increase.
  void AddTarget(const std::string& target);
  void Queued(const std::string& target, int64_t count);
  void Sent(const std::string& target);
  void Failed(const std::string& target);
  void Dropped(const std::string& target, int64_t count);

 private:
  prometheus::Family<prometheus::Gauge>& queued_;
  prometheus::Family<prometheus::Counter>& sent_;
  prometheus::Family<prometheus::Counter>& failures_;
  prometheus::Family<prometheus::Counter>& dropped_;
};

}  // namespace gp::coordinator
