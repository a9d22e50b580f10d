#include "coordinator/telemetry/notification_series.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace gp::coordinator {

using prometheus::BuildCounter;
using prometheus::BuildGauge;

NotificationSeries::NotificationSeries(prometheus::Registry& registry)
    : queued_(BuildGauge()
                  .Name("gp_coordinator_notifications_queued")
                  .Help("Notifications that wait to be sent, by target")
                  .Register(registry)),
      sent_(BuildCounter()
                .Name("gp_coordinator_notifications_sent_total")
                .Help("Notifications that the target accepted")
                .Register(registry)),
      failures_(BuildCounter()
                    .Name("gp_coordinator_notification_failures_total")
                    .Help("Attempts to send a notification that failed, by target")
                    .Register(registry)),
      dropped_(BuildCounter()
                   .Name("gp_coordinator_notifications_dropped_total")
                   .Help("Notifications that were given up: too old, or too many waited")
                   .Register(registry)) {}

void NotificationSeries::AddTarget(const std::string& target) {
  queued_.Add({{"target", target}});
  for (auto* family : {&sent_, &failures_, &dropped_}) family->Add({{"target", target}});
}

void NotificationSeries::Queued(const std::string& target, int64_t count) {
  queued_.Add({{"target", target}}).Set(static_cast<double>(count));
}

void NotificationSeries::Sent(const std::string& target) {
  sent_.Add({{"target", target}}).Increment();
}

void NotificationSeries::Failed(const std::string& target) {
  failures_.Add({{"target", target}}).Increment();
}

void NotificationSeries::Dropped(const std::string& target, int64_t count) {
  dropped_.Add({{"target", target}}).Increment(static_cast<double>(count));
}

}  // namespace gp::coordinator
