// The forms of time in S3's requests and answers, all in UTC. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace gp::object {

// "20130524T000000Z", as requests are signed.
std::string SigningTime(WallTime time);
// "2013-05-24T00:00:00Z"
std::string AnswerTime(WallTime time);
// Reads either form; fractions of a second are dropped. InvalidArgument for any other.
StatusOr<WallTime> ParseTime(const std::string& text);

}  // namespace gp::object
