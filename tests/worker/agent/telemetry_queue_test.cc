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

v1::TelemetryItem OfRun(const std::string& run, v1::TelemetryItem item) {
  item.set_run_id(run);
  return item;
}

v1::TelemetryItem PointOf(int64_t step) {
  v1::TelemetryItem item;
  item.mutable_point()->set_step(step);
  item.mutable_point()->set_epoch(7);
  return item;
}

// The items as text such as "line 3" or "point 3".
std::vector<std::string> TakeAll(TelemetryQueue& queue) {
  std::vector<std::string> taken;
  while (queue.has_unsent()) {
    const v1::Telemetry batch = queue.Take(100, 1 << 20);
    for (const v1::TelemetryItem& item : batch.items()) {
      taken.push_back(item.has_point() ? "point " + std::to_string(item.point().step())
                                       : "line " + item.line().text());
    }
  }
  return taken;
}

TEST(TelemetryQueue, ABurstOfLinesPushesOutNoPoint) {
  TelemetryQueue queue(4);
  for (int i = 1; i <= 4; ++i) queue.Add(PointOf(i));
  for (int i = 1; i <= 1000; ++i) queue.Add(Line(i));
  EXPECT_EQ(queue.dropped().points, 0u);
  EXPECT_EQ(queue.dropped().lines, 996u);
  const std::vector<std::string> taken = TakeAll(queue);
  ASSERT_EQ(taken.size(), 9u);
  EXPECT_EQ(taken[0], "point 1");
  EXPECT_EQ(taken[3], "point 4");
  EXPECT_EQ(taken[8], "line 1000");
}

TEST(TelemetryQueue, ABurstOfPointsPushesOutNoLine) {
  TelemetryQueue queue(4);
  for (int i = 1; i <= 4; ++i) queue.Add(Line(i));
  for (int i = 1; i <= 1000; ++i) queue.Add(PointOf(i));
  EXPECT_EQ(queue.dropped().points, 996u);
  EXPECT_EQ(queue.dropped().lines, 0u);
}

TEST(TelemetryQueue, SendsInTheOrderInWhichItWasTold) {
  TelemetryQueue queue(10);
  queue.Add(PointOf(1));
  queue.Add(Line(1));
  queue.Add(Line(2));
  queue.Add(PointOf(2));
  queue.Add(Line(3));
  EXPECT_EQ(TakeAll(queue),
            (std::vector<std::string>{"point 1", "line 1", "line 2", "point 2", "line 3"}));
}

TEST(TelemetryQueue, SaysInTheRunsLogWhatWasDroppedAndWhere) {
  TelemetryQueue queue(2);
  for (int i = 1; i <= 5; ++i) queue.Add(OfRun("a", Line(i)));
  for (int i = 1; i <= 4; ++i) queue.Add(OfRun("b", PointOf(i)));
  const v1::Telemetry batch = queue.Take(100, 1 << 20);
  ASSERT_EQ(batch.items_size(), 6);
  EXPECT_EQ(batch.first_sequence(), 1u);
  EXPECT_EQ(batch.items(0).run_id(), "a");
  EXPECT_EQ(batch.items(0).line().text(),
            "3 lines of this run were dropped: the agent's queue was full (telemetry.items_max)");
  EXPECT_EQ(batch.items(0).line().rank(), -1);
  EXPECT_EQ(batch.items(1).line().text(), "4");
  EXPECT_EQ(batch.items(3).run_id(), "b");
  EXPECT_EQ(batch.items(3).line().epoch(), 7u);
  EXPECT_EQ(batch.items(3).line().text(),
            "2 points of this run were dropped: the agent's queue was full (telemetry.items_max)");
  EXPECT_EQ(batch.items(4).point().step(), 3);
  queue.Add(OfRun("a", Line(6)));
  EXPECT_EQ(TakeAll(queue), std::vector<std::string>{"line 6"}) << "it is said once";
}

TEST(TelemetryQueue, SaysWhatWasDroppedOfARunThatSaysNothingMore) {
  TelemetryQueue queue(2);
  queue.Add(OfRun("a", Line(1)));
  queue.Add(OfRun("b", Line(2)));
  queue.Add(OfRun("b", Line(3)));
  const v1::Telemetry batch = queue.Take(100, 1 << 20);
  ASSERT_EQ(batch.items_size(), 3);
  EXPECT_EQ(batch.items(2).run_id(), "a");
  EXPECT_EQ(batch.items(2).line().text(),
            "1 lines of this run were dropped: the agent's queue was full (telemetry.items_max)");
  EXPECT_FALSE(queue.has_unsent());
}

// An item that was sent keeps its number; a dropped item never gets one.
TEST(TelemetryQueue, NumbersHaveNoGaps) {
  TelemetryQueue queue(2);
  queue.Add(Line(1));
  EXPECT_EQ(queue.Take(10, 1 << 20).first_sequence(), 1u);
  for (int i = 2; i <= 9; ++i) queue.Add(Line(i));
  EXPECT_EQ(queue.Take(1, 1 << 20).first_sequence(), 2u);
  queue.Rewind();
  const v1::Telemetry again = queue.Take(10, 1 << 20);
  EXPECT_EQ(again.first_sequence(), 1u);
  EXPECT_EQ(again.items(0).line().text(), "1");
  EXPECT_EQ(again.items(3).line().text(), "9");
}

TEST(TelemetryQueue, CountsTheBytesThatAreSentAndNotAcknowledged) {
  TelemetryQueue queue(10);
  for (int i = 1; i <= 3; ++i) queue.Add(Line(i));
  const size_t each = Line(1).ByteSizeLong();
  EXPECT_EQ(queue.sent_bytes(), 0u);
  queue.Take(2, 1 << 20);
  EXPECT_EQ(queue.sent_bytes(), 2 * each);
  queue.Acknowledge(1);
  EXPECT_EQ(queue.sent_bytes(), each);
  queue.Rewind();
  EXPECT_EQ(queue.sent_bytes(), 0u);
  queue.Take(10, 1 << 20);
  EXPECT_EQ(queue.sent_bytes(), 2 * each);
  queue.Acknowledge(3);
  EXPECT_EQ(queue.sent_bytes(), 0u);
  EXPECT_EQ(queue.size(), 0u);
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
  queue.Take(1, 100);
  queue.Add(Line(2));
  queue.Acknowledge(100);
  EXPECT_EQ(queue.size(), 1u);
  const v1::Telemetry next = queue.Take(1, 100);
  EXPECT_EQ(next.first_sequence(), 2u);
  EXPECT_EQ(next.items(0).line().text(), "2");
}

}  // namespace
}  // namespace gp::agent
