#include "coordinator/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <variant>

#include "base/duration.h"
#include "base/nearest_word.h"
#include "base/status.h"
#include "base/yaml_reader.h"

namespace gp::coordinator {
namespace {

using Kind = YamlNode::Kind;
using Settings = CoordinatorSettings;

struct Setting {
  std::string key;
  std::function<Status(const std::string&, Settings&)> read;
};

Setting Text(std::string key, std::string Settings::*field) {
  return {std::move(key), [field](const std::string& text, Settings& settings) {
            settings.*field = text;
            return OkStatus();
          }};
}

Setting Duration(std::string key, std::chrono::nanoseconds Settings::*field,
                 std::chrono::nanoseconds least) {
  return {std::move(key), [field, least](const std::string& text, Settings& settings) -> Status {
            ASSIGN_OR_RETURN(const auto duration, ParseDuration(text));
            if (duration < least) {
              return InvalidArgument("{} is too short; at least {}", text, FormatDuration(least));
            }
            settings.*field = duration;
            return OkStatus();
          }};
}

Setting Bytes(std::string key, int64_t Settings::*field) {
  return {std::move(key), [field](const std::string& text, Settings& settings) -> Status {
            int64_t value = 0;
            const char* end = text.data() + text.size();
            const auto parsed = std::from_chars(text.data(), end, value);
            if (parsed.ec != std::errc() || parsed.ptr != end || value < (1 << 16)) {
              return InvalidArgument("'{}' is not a whole number of bytes of at least 65536", text);
            }
            settings.*field = value;
            return OkStatus();
          }};
}

Setting ApiVersion() {
  return {"apiVersion", [](const std::string& text, Settings&) -> Status {
            if (text == "gp/v1") return OkStatus();
            return InvalidArgument("'{}' is not supported; this version reads gp/v1", text);
          }};
}

const std::vector<Setting>& Table() {
  using std::chrono::milliseconds;
  static const std::vector<Setting> kTable = {
      ApiVersion(),
      Text("server.listen", &Settings::listen),
      Text("metrics.listen", &Settings::metrics_listen),
      Text("state.dir", &Settings::state_dir),
      Text("storage.root", &Settings::storage_root),
      Duration("agents.lease", &Settings::lease, milliseconds(500)),
      Duration("agents.report_interval", &Settings::report_interval, milliseconds(50)),
      Duration("runs.start_timeout", &Settings::start_timeout, milliseconds(1000)),
      Duration("runs.finish_timeout", &Settings::finish_timeout, milliseconds(1000)),
      Bytes("logs.points_bytes_max", &Settings::points_bytes_max),
      Bytes("logs.lines_bytes_max", &Settings::lines_bytes_max),
  };
  return kTable;
}

const Setting* FindSetting(const std::string& key) {
  const auto found = std::find_if(Table().begin(), Table().end(),
                                  [&](const Setting& setting) { return setting.key == key; });
  return found == Table().end() ? nullptr : &*found;
}

bool IsSection(const std::string& key) {
  return std::any_of(Table().begin(), Table().end(),
                     [&](const Setting& setting) { return setting.key.starts_with(key + "."); });
}

// Walks the file and collects what is wrong.
class FileReader {
 public:
  FileReader(std::string_view text, std::string_view source, Settings& settings)
      : text_(text), source_(source), settings_(settings) {}

  void ReadMap(const YamlNode& node, const std::string& prefix) {
    for (const YamlEntry& entry : node.entries) ReadEntry(entry, prefix + entry.key);
  }

  std::vector<ConfigProblem> problems;

 private:
  void ReadEntry(const YamlEntry& entry, const std::string& key) {
    if (const Setting* setting = FindSetting(key)) return ReadValue(*setting, entry.value);
    if (!IsSection(key)) {
      const auto near = NearestWord(key, SettingKeys());
      return Add(key, entry.key_mark, entry.key.size(), fmt::format("unknown key '{}'", key),
                 near ? fmt::format("did you mean '{}'?", *near) : "");
    }
    if (entry.value.kind == Kind::kMap) return ReadMap(entry.value, key + ".");
    if (entry.value.kind != Kind::kNull) {
      Add(key, entry.value.mark, 1, fmt::format("{}: expected a map of settings", key), "");
    }
  }

  void ReadValue(const Setting& setting, const YamlNode& value) {
    if (value.kind == Kind::kNull) return;
    if (value.kind != Kind::kScalar) {
      return Add(setting.key, value.mark, 1,
                 fmt::format("{}: expected text, found {}", setting.key, Describe(value.kind)), "");
    }
    const Status status = setting.read(value.scalar, settings_);
    if (status.ok()) return;
    Add(setting.key, value.mark, value.scalar.size(), setting.key + ": " + Message(status), "");
  }

  void Add(const std::string& key, const YamlMark& mark, size_t width, std::string message,
           std::string hint) {
    problems.push_back({.source = std::string(source_),
                        .line = mark.line,
                        .column = mark.column,
                        .width = static_cast<int>(std::max<size_t>(width, 1)),
                        .key = key,
                        .message = std::move(message),
                        .hint = std::move(hint),
                        .source_line = LineOf(text_, mark.line)});
  }

  std::string_view text_;
  std::string_view source_;
  Settings& settings_;
};

}  // namespace

std::vector<ConfigProblem> ReadSettings(std::string_view text, std::string_view source,
                                        Settings& settings) {
  const auto parsed = ParseYaml(text, source);
  if (const auto* problem = std::get_if<ConfigProblem>(&parsed)) return {*problem};
  FileReader reader(text, source, settings);
  reader.ReadMap(std::get<YamlNode>(parsed), "");
  return std::move(reader.problems);
}

std::vector<std::string> SettingKeys() {
  std::vector<std::string> keys;
  for (const Setting& setting : Table()) keys.push_back(setting.key);
  return keys;
}

}  // namespace gp::coordinator
