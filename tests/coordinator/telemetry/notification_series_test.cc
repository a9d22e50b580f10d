#include "coordinator/telemetry/notification_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;

TEST(NotificationSeries, CountsByTarget) {
  prometheus::Registry registry;
  NotificationSeries series(registry);
  const auto text = [&] { return prometheus::TextSerializer().Serialize(registry.Collect()); };
  series.AddTarget("ops");
  EXPECT_THAT(text(), HasSubstr("gp_coordinator_notifications_dropped_total{target=\"ops\"} 0"));
  series.Queued("ops", 3);
  series.Sent("ops");
  series.Failed("ops");
  series.Dropped("ops", 2);
  EXPECT_THAT(text(), HasSubstr("gp_coordinator_notifications_queued{target=\"ops\"} 3"));
  EXPECT_THAT(text(), HasSubstr("gp_coordinator_notifications_sent_total{target=\"ops\"} 1"));
  EXPECT_THAT(text(), HasSubstr("gp_coordinator_notification_failures_total{target=\"ops\"} 1"));
  EXPECT_THAT(text(), HasSubstr("gp_coordinator_notifications_dropped_total{target=\"ops\"} 2"));
}

}  // namespace
}  // namespace gp::coordinator
