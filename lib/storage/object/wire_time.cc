#include "storage/object/wire_time.h"

#include <fmt/chrono.h>

#include <ctime>

#include "base/text/excerpt.h"

namespace gp::object {
namespace {

std::tm Calendar(WallTime time) {
  return fmt::gmtime(
      std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time)));
}

}  // namespace

std::string SigningTime(WallTime time) { return fmt::format("{:%Y%m%dT%H%M%SZ}", Calendar(time)); }

std::string AnswerTime(WallTime time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", Calendar(time));
}

StatusOr<WallTime> ParseTime(const std::string& text) {
  for (const char* form : {"%Y-%m-%dT%H:%M:%S", "%Y%m%dT%H%M%S"}) {
    std::tm calendar{};
    const char* rest = strptime(text.c_str(), form, &calendar);
    if (rest == nullptr || (*rest != 'Z' && *rest != '.')) continue;
    return WallTime(std::chrono::seconds(timegm(&calendar)));
  }
  return InvalidArgument("'{}' is not a time such as 2013-05-24T00:00:00Z", Excerpt(text));
}

}  // namespace gp::object
