#include "rpc/timestamp.h"

#include <algorithm>

namespace gp::rpc {
namespace {

constexpr int64_t kMicros = 1'000'000;
constexpr int64_t kSecondsMax = 253'402'300'799;  // 9999-12-31T23:59:59Z

}  // namespace

google::protobuf::Timestamp ToTimestamp(int64_t microseconds) {
  const int64_t within = std::clamp<int64_t>(microseconds, 0, (kSecondsMax + 1) * kMicros - 1);
  google::protobuf::Timestamp time;
  time.set_seconds(within / kMicros);
  time.set_nanos(static_cast<int32_t>(within % kMicros * 1000));
  return time;
}

int64_t MicrosecondsOf(const google::protobuf::Timestamp& time) {
  const int64_t seconds = std::clamp<int64_t>(time.seconds(), 0, kSecondsMax);
  return seconds * kMicros + std::clamp(time.nanos(), 0, 999'999'999) / 1000;
}

}  // namespace gp::rpc
