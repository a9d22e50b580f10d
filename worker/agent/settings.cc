#include "worker/agent/settings.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>

#include "base/duration.h"
#include "base/nearest_word.h"
#include "base/status.h"
#include "base/yaml_reader.h"

namespace gp::agent {
namespace {

using Kind = YamlNode::Kind;
using Reader = std::function<Status(const YamlNode&, WorkerSettings&)>;

struct Setting {
  std::string key;
  Reader read;
};

Status ExpectKind(const YamlNode& node, Kind kind) {
  if (node.kind == kind) return OkStatus();
  return InvalidArgument("expected {}, found {}", Describe(kind), Describe(node.kind));
}

Reader Text(std::string WorkerSettings::*field) {
  return [field](const YamlNode& node, WorkerSettings& settings) -> Status {
    if (node.kind == Kind::kNull) return OkStatus();
    RETURN_IF_ERROR(ExpectKind(node, Kind::kScalar));
    settings.*field = node.scalar;
    return OkStatus();
  };
}

Reader Integer(int WorkerSettings::*field, int least, int most) {
  return [=](const YamlNode& node, WorkerSettings& settings) -> Status {
    RETURN_IF_ERROR(ExpectKind(node, Kind::kScalar));
    const char* end = node.scalar.data() + node.scalar.size();
    int value = 0;
    const auto [stop, error] = std::from_chars(node.scalar.data(), end, value);
    if (error != std::errc() || stop != end || value < least || value > most) {
      return InvalidArgument("'{}' is not a whole number from {} to {}", node.scalar, least, most);
    }
    settings.*field = value;
    return OkStatus();
  };
}

Reader Duration(std::chrono::nanoseconds WorkerSettings::*field) {
  return [field](const YamlNode& node, WorkerSettings& settings) -> Status {
    RETURN_IF_ERROR(ExpectKind(node, Kind::kScalar));
    ASSIGN_OR_RETURN(settings.*field, ParseDuration(node.scalar));
    return OkStatus();
  };
}

Reader Words(std::vector<std::string> WorkerSettings::*field) {
  return [field](const YamlNode& node, WorkerSettings& settings) -> Status {
    RETURN_IF_ERROR(ExpectKind(node, Kind::kSequence));
    std::vector<std::string> words;
    for (const YamlNode& item : node.items) {
      RETURN_IF_ERROR(ExpectKind(item, Kind::kScalar));
      words.push_back(item.scalar);
    }
    settings.*field = std::move(words);
    return OkStatus();
  };
}

Reader ApiVersion() {
  return [](const YamlNode& node, WorkerSettings&) -> Status {
    if (node.scalar == "gp/v1") return OkStatus();
    return InvalidArgument("'{}' is not supported; this version reads gp/v1", node.scalar);
  };
}

const std::vector<Setting>& Table() {
  using S = WorkerSettings;
  static const std::vector<Setting> kTable = {
      {"apiVersion", ApiVersion()},
      {"node.name", Text(&S::node_name)},
      {"node.data_address", Text(&S::data_address)},
      {"node.slots", Integer(&S::slots, 0, 1024)},
      {"coordinator.address", Text(&S::coordinator)},
      {"coordinator.reconnect_max", Duration(&S::reconnect_max)},
      {"state.dir", Text(&S::state_dir)},
      {"storage.root", Text(&S::storage_root)},
      {"trainer.program", Text(&S::trainer_program)},
      {"trainer.environment", Words(&S::trainer_environment)},
      {"trainer.start_timeout", Duration(&S::start_timeout)},
      {"trainer.stop_grace", Duration(&S::stop_grace)},
      {"gpu.devices", Text(&S::gpu_devices)},
      {"gpu.library", Text(&S::gpu_library)},
      {"gpu.trainer", Text(&S::gpu_trainer_program)},
      {"gpu.nccl_interface", Text(&S::nccl_interface)},
      {"gpu.check_interval", Duration(&S::gpu_check_interval)},
      {"telemetry.items_max", Integer(&S::telemetry_items_max, 1000, 10'000'000)},
      {"metrics.listen", Text(&S::metrics_listen)},
  };
  return kTable;
}

const Setting* FindSetting(const std::string& key) {
  for (const Setting& setting : Table()) {
    if (setting.key == key) return &setting;
  }
  return nullptr;
}

bool IsSection(const std::string& key) {
  for (const Setting& setting : Table()) {
    if (setting.key.starts_with(key + ".")) return true;
  }
  return false;
}

// Walks the file and collects what is wrong.
class FileReader {
 public:
  FileReader(std::string_view text, std::string_view source, WorkerSettings& settings)
      : text_(text), source_(source), settings_(settings) {}

  void ReadMap(const YamlNode& node, const std::string& prefix) {
    for (const YamlEntry& entry : node.entries) ReadEntry(entry, prefix + entry.key);
  }

  void Problem(const std::string& key, const YamlMark& mark, size_t width, std::string message,
               std::string hint = "") {
    problems_.push_back({.source = std::string(source_),
                         .line = mark.line,
                         .column = mark.column,
                         .width = static_cast<int>(width),
                         .key = key,
                         .message = std::move(message),
                         .hint = std::move(hint),
                         .source_line = LineOf(text_, mark.line)});
  }

  std::vector<ConfigProblem> TakeProblems() { return std::move(problems_); }

 private:
  void ReadEntry(const YamlEntry& entry, const std::string& key) {
    if (const Setting* setting = FindSetting(key)) {
      const Status status = setting->read(entry.value, settings_);
      if (!status.ok()) {
        Problem(key, entry.value.mark, entry.value.scalar.size(), key + ": " + Message(status));
      }
    } else if (!IsSection(key)) {
      const auto near = NearestWord(key, SettingKeys());
      Problem(key, entry.key_mark, entry.key.size(), fmt::format("unknown key '{}'", key),
              near ? fmt::format("did you mean '{}'?", *near) : "");
    } else if (entry.value.kind == Kind::kMap) {
      ReadMap(entry.value, key + ".");
    } else if (entry.value.kind != Kind::kNull) {
      Problem(key, entry.value.mark, 1,
              fmt::format("{}: expected a map, found {}", key, Describe(entry.value.kind)));
    }
  }

  const std::string_view text_;
  const std::string_view source_;
  WorkerSettings& settings_;
  std::vector<ConfigProblem> problems_;
};

}  // namespace

std::vector<ConfigProblem> ReadSettings(std::string_view text, std::string_view source,
                                        WorkerSettings& settings) {
  const auto parsed = ParseYaml(text, source);
  if (const auto* problem = std::get_if<ConfigProblem>(&parsed)) return {*problem};
  const auto& root = std::get<YamlNode>(parsed);
  FileReader reader(text, source, settings);
  if (root.kind == Kind::kMap) {
    reader.ReadMap(root, "");
  } else if (root.kind != Kind::kNull) {
    reader.Problem("", root.mark, 1, fmt::format("expected a map, found {}", Describe(root.kind)));
  }
  return reader.TakeProblems();
}

std::vector<std::string> SettingKeys() {
  std::vector<std::string> keys;
  for (const Setting& setting : Table()) keys.push_back(setting.key);
  return keys;
}

}  // namespace gp::agent
