// Numbers as people read them on a screen. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/text/thousands.h"

namespace gp::gpctl {

std::string CompactCount(double value);  // 950, 48.2k, 3.86M, 10.0B
std::string Bytes(uint64_t bytes);       // 512 B, 1.5 MiB, 36.0 GiB
std::string Percent(double fraction);    // 38.6%
std::string Loss(double value);          // 3.2714, "nan", "inf"
std::string LearningRate(double value);  // 4.93e-04

// "1d02h", "1h03m", "3m12s", "42s", rounded to seconds: less than half a second is "0s". Negative
// and not finite are "-".
std::string DurationText(double seconds);
// "128 ms", "2.5 s": for times that may be short; from 100 s on as DurationText.
std::string StepTimeText(double seconds);
// "12s ago", "3m12s ago".
std::string AgoText(double seconds);

// "09:14:07" and "2026-11-21T09:14:07Z" of seconds since 1970, UTC.
std::string ClockText(int64_t unix_seconds);
std::string DateTimeText(int64_t unix_seconds);
// "2026-11-21T09:14:07.250Z": for what happens several times a second.
std::string PreciseTimeText(int64_t unix_seconds, int32_t nanoseconds);

}  // namespace gp::gpctl
