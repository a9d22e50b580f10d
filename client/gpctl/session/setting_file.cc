#include "client/gpctl/session/setting_file.h"

#include <map>
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

Status AddSettings(const std::string& path, const Console& console, Settings& settings) {
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
    settings.values.push_back(fmt::format("{}={}", key, WithoutBlanks(line.substr(equals + 1))));
    settings.sources.push_back(fmt::format("{}:{}", path, number));
  }
  return OkStatus();
}

}  // namespace

StatusOr<Settings> SettingsOf(const std::vector<std::string>& files,
                              const std::vector<std::string>& overrides, const Console& console) {
  Settings settings;
  for (const std::string& file : files) RETURN_IF_ERROR(AddSettings(file, console, settings));
  settings.values.insert(settings.values.end(), overrides.begin(), overrides.end());
  return settings;
}

Status NamingFiles(const Status& problem, const Settings& settings) {
  std::map<std::string, std::string> sources;  // by key; the last one is the one that counts
  for (size_t i = 0; i < settings.values.size(); ++i) {
    const std::string& value = settings.values[i];
    sources[value.substr(0, value.find('='))] =
        i < settings.sources.size() ? settings.sources[i] : "";
  }
  std::string text = Message(problem);
  for (const auto& [key, source] : sources) {
    if (source.empty()) continue;
    const std::string place = fmt::format("{}: {}:", source, key);
    const std::string named = fmt::format("--set {}:", key);
    for (size_t at = text.find(named); at != std::string::npos; at = text.find(named, at)) {
      text.replace(at, named.size(), place);
      at += place.size();
    }
    if (text.starts_with(key + ":")) text.replace(0, key.size() + 1, place);
  }
  return {problem.code(), text};
}

}  // namespace gp::gpctl
