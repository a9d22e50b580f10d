#include "rpc/timestamp.h"

#include <google/protobuf/util/time_util.h>
#include <gtest/gtest.h>

namespace gp::rpc {
namespace {

using google::protobuf::util::TimeUtil;

TEST(Timestamp, MicrosecondsComeBack) {
  for (const int64_t micros : {int64_t{0}, int64_t{1}, int64_t{999'999}, int64_t{1'000'000},
                               int64_t{1'790'000'000'123'456}, int64_t{253'402'300'799'999'999}}) {
    EXPECT_EQ(MicrosecondsOf(ToTimestamp(micros)), micros);
    EXPECT_EQ(TimeUtil::TimestampToMicroseconds(ToTimestamp(micros)), micros);
  }
}

TEST(Timestamp, EveryTimeCanBePrinted) {
  EXPECT_EQ(TimeUtil::ToString(ToTimestamp(INT64_MIN)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(TimeUtil::ToString(ToTimestamp(INT64_MAX)), "9999-12-31T23:59:59.999999Z");
}

TEST(Timestamp, APeersTimeIsHeldWithinTheCalendar) {
  google::protobuf::Timestamp time;
  time.set_seconds(INT64_MAX);
  time.set_nanos(INT32_MAX);
  EXPECT_EQ(MicrosecondsOf(time), 253'402'300'799'999'999);
  time.set_seconds(INT64_MIN);
  time.set_nanos(INT32_MIN);
  EXPECT_EQ(MicrosecondsOf(time), 0);
}

}  // namespace
}  // namespace gp::rpc
