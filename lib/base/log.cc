#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <optional>

#include "base/text/safe_text.h"
#include "base/text/utf8.h"

namespace gp {
namespace {

// Escapes characters that would break the line or control a terminal: \n, \", \\, \x1b.
std::string Escaped(std::string_view value) {
  std::string escaped;
  while (!value.empty()) {
    const std::string_view before = value;
    const std::optional<char32_t> code_point = TakeCodePoint(value);
    if (!code_point) value.remove_prefix(1);
    const std::string_view bytes = before.substr(0, before.size() - value.size());
    if (code_point == U'"' || code_point == U'\\') {
      escaped += '\\';
      escaped += bytes;
    } else if (code_point == U'\n') {
      escaped += "\\n";
    } else if (!code_point || IsUnsafeToShow(*code_point)) {
      for (const char byte : bytes) {
        escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
    } else {
      escaped += bytes;
    }
  }
  return escaped;
}

std::string Quoted(const std::string& value) {
  const std::string escaped = Escaped(value);
  const bool plain =
      !value.empty() && escaped == value && value.find_first_of(" =") == std::string::npos;
  return plain ? value : '"' + escaped + '"';
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

void InitLogging(std::string_view program, LogLevel level) {
  auto logger = std::make_shared<spdlog::logger>(std::string(program),
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %n %v", spdlog::pattern_time_type::utc);
  logger->set_level(ToSpdlog(level));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(logger);
}

void Log(LogLevel level, std::string_view event, LogFields fields) {
  std::string line(event);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    line += Quoted(field.value);
  }
  spdlog::log(ToSpdlog(level), "{}", line);
}

}  // namespace gp
