// Converts microseconds since 1970 to and from google.protobuf.Timestamp. Times come from clocks
// and peers that may be wrong: one before 1970 or after the year 9999 is clamped to what a
// Timestamp can print (protobuf's own conversion aborts the process for such a time). Pure
// functions; thread-safe.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <cstdint>

namespace gp::rpc {

google::protobuf::Timestamp ToTimestamp(int64_t microseconds);

int64_t MicrosecondsOf(const google::protobuf::Timestamp& time);

}  // namespace gp::rpc
