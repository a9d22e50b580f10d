// GP_CHECK(condition) and GP_CHECK(condition, "rank {} of {}", rank, size): for conditions that
// only a bug can break. Active in every build. Prints the place, the condition and the message to
// stderr, and aborts. Errors with a cause outside the program are a Status instead (base/status.h).
#pragma once

#include <fmt/format.h>

#include <string>

namespace gp {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const std::string& message);

inline std::string CheckMessage() { return ""; }
template <typename... Args>
std::string CheckMessage(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}

}  // namespace gp

#define GP_CHECK(condition, ...)                     \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? void(0)                                     \
       : ::gp::CheckFailed(__FILE__, __LINE__, #condition, ::gp::CheckMessage(__VA_ARGS__)))
