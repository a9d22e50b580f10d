#include "worker/agent/telemetry_queue.h"

#include <gtest/gtest.h>

namespace gp::agent {
namespace {

v1::TelemetryItem Line(int number) {
  v1::TelemetryItem item;
  item.mutable_line()->set_text(std::to_string(number));
  return item;
}

TEST(TelemetryQueue, KeepsItemsUntilTheyAreAcknowledged) {
  TelemetryQueue queue(10);
  for (int i = 1; i <= 3; ++i) queue.Add(Line(i));
  const v1::Telemetry first = queue.Take(2, 1 << 20);
  EXPECT_EQ(first.first_sequence(), 1u);
  EXPECT_EQ(first.items_size(), 2);
  EXPECT_EQ(queue.Take(10, 1 << 20).first_sequence(), 3u);
  EXPECT_FALSE(queue.has_unsent());
  queue.Acknowledge(1);
  EXPECT_EQ(queue.size(), 2u);
  queue.Rewind();
  const v1::Telemetry again = queue.Take(10, 1 << 20);
  EXPECT_EQ(again.first_sequence(), 2u);
  EXPECT_EQ(again.items(0).line().text(), "2");
}

TEST(TelemetryQueue, DropsTheOldestWhenFullAndShowsTheGap) {
  TelemetryQueue queue(2);
  for (int i = 1; i <= 5; ++i) queue.Add(Line(i));
  EXPECT_EQ(queue.dropped(), 3u);
  const v1::Telemetry batch = queue.Take(10, 1 << 20);
  EXPECT_EQ(batch.first_sequence(), 4u);
  EXPECT_EQ(batch.items(1).line().text(), "5");
}

TEST(TelemetryQueue, BoundsTheBytesOfABatchButSendsABigItemAlone) {
  TelemetryQueue queue(10);
  for (int i = 0; i < 3; ++i) {
    v1::TelemetryItem item;
    item.mutable_line()->set_text(std::string(1000, 'x'));
    queue.Add(item);
  }
  EXPECT_EQ(queue.Take(10, 10).items_size(), 1);
  EXPECT_EQ(queue.Take(10, 3000).items_size(), 2);
}

TEST(TelemetryQueue, AnAcknowledgementOfTheFutureIsHarmless) {
  TelemetryQueue queue(10);
  queue.Add(Line(1));
  queue.Acknowledge(100);
  EXPECT_EQ(queue.size(), 0u);
  queue.Add(Line(2));
  EXPECT_EQ(queue.Take(1, 100).first_sequence(), 2u);
}

}  // namespace
}  // namespace gp::agent
