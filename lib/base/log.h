// Logging: one line per event to stderr, key=value, when a state changes. Thread-safe.
//
//   LogInfo("run started", {{"run", id.value()}, {"epoch", epoch}});
//   2026-11-21T09:41:12.123Z info gp-coordinator run started run=7f3k2q9a0c epoch=3
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace gp {

// One key=value pair. Empty values and those with a space, '=', quote or backslash are printed in
// quotes; control characters and bytes that are not UTF-8 become escapes (\n, \x1b), so that one
// event stays one line of text.
struct LogField {
  template <typename T>
  LogField(std::string_view name, const T& field_value)
      : key(name), value(fmt::format("{}", field_value)) {}

  std::string key;
  std::string value;
};
using LogFields = std::initializer_list<LogField>;

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Call once at the start of main. `program` appears in every line.
void InitLogging(std::string_view program, LogLevel level = LogLevel::kInfo);

void Log(LogLevel level, std::string_view event, LogFields fields);
inline void LogInfo(std::string_view event, LogFields fields = {}) {
  Log(LogLevel::kInfo, event, fields);
}
inline void LogWarning(std::string_view event, LogFields fields = {}) {
  Log(LogLevel::kWarning, event, fields);
}
inline void LogError(std::string_view event, LogFields fields = {}) {
  Log(LogLevel::kError, event, fields);
}

}  // namespace gp
