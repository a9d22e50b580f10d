#include "client/gpctl/session/setting_file.h"

#include <sstream>

#include "base/file.h"
#include "base/text/excerpt.h"
#include "formats/file_kind.h"

namespace gp::gpctl {
namespace {

constexpr uint64_t kSettingFileBytesMax = 1 << 20;

std::string_view WithoutBlanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

Status AddSettings(const std::string& path, const Console& console,
                   std::vector<std::string>& settings) {
  const auto text = ReadFile(AbsolutePath(path, console.working_directory), kSettingFileBytesMax);
  if (!text.ok()) return InvalidArgument("--set-file: {}", Message(text.status()));
  RETURN_IF_ERROR(
      WithContext(formats::RefuseOtherText(path, *text, "lines KEY=VALUE"), "--set-file"));
  std::istringstream lines(*text);
  int number = 0;
  for (std::string whole; std::getline(lines, whole);) {
    ++number;
    const std::string_view line = WithoutBlanks(whole);
    if (line.empty() || line.front() == '#') continue;
    const size_t equals = line.find('=');
    const std::string_view key = WithoutBlanks(line.substr(0, equals));
    if (equals == std::string_view::npos || key.empty()) {
      return InvalidArgument("{}:{}: expected KEY=VALUE, such as optimizer.lr=3e-4, not '{}'", path,
                             number, Excerpt(line));
    }
    settings.push_back(fmt::format("{}={}", key, WithoutBlanks(line.substr(equals + 1))));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<std::string>> SettingsOf(const std::vector<std::string>& files,
                                              const std::vector<std::string>& overrides,
                                              const Console& console) {
  std::vector<std::string> settings;
  for (const std::string& file : files) RETURN_IF_ERROR(AddSettings(file, console, settings));
  settings.insert(settings.end(), overrides.begin(), overrides.end());
  return settings;
}

}  // namespace gp::gpctl
