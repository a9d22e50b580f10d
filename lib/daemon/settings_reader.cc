#include "daemon/settings_reader.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "base/text/excerpt.h"
#include "base/text/nearest_word.h"
#include "base/yaml_reader.h"
#include "runspec/document_reader.h"
#include "runspec/value_reader.h"

namespace gp::daemon {
namespace {

using runspec::ValueProblem;

// A variable within this many typos of a setting counts as misspelt. Orchestrators' variables
// differ by more: GP_COORDINATOR_SERVICE_HOST.
constexpr size_t kTyposMax = 2;

std::optional<ValueProblem> CheckValue(const Setting& setting, const YamlNode& node) {
  if (setting.check == nullptr) return std::nullopt;
  const Status status = setting.check(node.scalar);
  if (status.ok()) return std::nullopt;
  return ValueProblem{node.mark, static_cast<int>(std::max<size_t>(node.scalar.size(), 1)),
                      fmt::format("{}: {}", setting.field.path, Message(status)), ""};
}

std::optional<ValueProblem> ReadSetting(const Setting& setting, const YamlNode& node) {
  auto problem = runspec::ReadValue(setting.field, node, setting.slot);
  return problem ? problem : CheckValue(setting, node);
}

// The version of the file's format, which every settings file may begin with.
Setting ApiVersion(std::string& value) {
  return {.field = {.path = "apiVersion",
                    .doc = "The version of this file's format.",
                    .choices = {"gp/v1"}},
          .slot = &value};
}

std::vector<const Setting*> KeysOfFile(const Setting& version, const Settings& settings) {
  std::vector<const Setting*> all = {&version};
  for (const Setting& setting : settings) all.push_back(&setting);
  return all;
}

runspec::Fields FieldsOf(const std::vector<const Setting*>& settings) {
  runspec::Fields fields;
  for (const Setting* setting : settings) fields.push_back(&setting->field);
  return fields;
}

class FileReader : private runspec::DocumentReader {
 public:
  FileReader(std::string_view text, const std::string& source, const Settings& settings)
      : DocumentReader("a settings file", "--explain all", fields_),
        text_(text),
        source_(source),
        version_setting_(ApiVersion(version_)),
        settings_(KeysOfFile(version_setting_, settings)),
        fields_(FieldsOf(settings_)) {}

  std::vector<ConfigProblem> Read() {
    auto parsed = ParseYaml(text_, source_);
    if (auto* problem = std::get_if<ConfigProblem>(&parsed)) return {std::move(*problem)};
    ReadGroup("", std::get<YamlNode>(parsed));
    return problems().Take();
  }

 private:
  void ReadKey(const std::string& path, const YamlEntry& entry) override {
    if (entry.value.kind == YamlNode::Kind::kNull) return;
    const auto setting = std::find_if(settings_.begin(), settings_.end(),
                                      [&](const Setting* one) { return one->field.path == path; });
    auto problem = ReadSetting(**setting, entry.value);
    if (!problem) return;
    Report(problem->mark, problem->width, path, std::move(problem->message),
           std::move(problem->hint));
  }

  void Report(const YamlMark& mark, int width, const std::string& key, std::string message,
              std::string hint) override {
    ConfigProblem problem{
        .source = source_, .key = key, .message = std::move(message), .hint = std::move(hint)};
    if (!problems().full()) PointAt(text_, {mark.line, mark.column, width}, problem);
    problems().Add(std::move(problem));
  }

  const std::string_view text_;
  const std::string source_;
  std::string version_;
  const Setting version_setting_;
  const std::vector<const Setting*> settings_;
  const runspec::Fields fields_;
};

using Variable = std::pair<std::string, std::string>;  // name, value

std::optional<Variable> Split(const std::string& entry) {
  const size_t equals = entry.find('=');
  if (equals == std::string::npos || equals + 1 == entry.size()) return std::nullopt;
  return Variable(entry.substr(0, equals), entry.substr(equals + 1));
}

std::vector<std::string> VariableNames(const std::string& program, const Settings& settings) {
  std::vector<std::string> names;
  for (const Setting& setting : settings) names.push_back(VariableOf(program, setting.field.path));
  return names;
}

void WarnOfNearMiss(const std::string& name, const std::vector<std::string>& names,
                    std::vector<ConfigProblem>& warnings) {
  const auto near = std::find_if(names.begin(), names.end(), [&](const std::string& known) {
    return EditDistance(name, known) <= kTyposMax;
  });
  if (near == names.end()) return;
  warnings.push_back({.source = name,
                      .message = "this environment variable is not a setting",
                      .hint = fmt::format("did you mean '{}'?", *near)});
}

}  // namespace

std::vector<ConfigProblem> ReadSettingsFile(std::string_view text, const std::string& source,
                                            const Settings& settings) {
  return FileReader(text, source, settings).Read();
}

std::vector<ConfigProblem> ReadSettingsEnvironment(const std::vector<std::string>& environment,
                                                   const std::string& program,
                                                   const Settings& settings,
                                                   std::vector<ConfigProblem>& warnings) {
  const std::vector<std::string> names = VariableNames(program, settings);
  std::vector<ConfigProblem> problems;
  for (const std::string& entry : environment) {
    const auto variable = Split(entry);
    if (!variable || !variable->first.starts_with(VariablePrefix(program))) continue;
    const auto found = std::find(names.begin(), names.end(), variable->first);
    if (found == names.end()) {
      WarnOfNearMiss(variable->first, names, warnings);
      continue;
    }
    const Setting& setting = settings[static_cast<size_t>(found - names.begin())];
    for (auto& problem : ReadSettingText(variable->second, variable->first, setting)) {
      problems.push_back(std::move(problem));
    }
  }
  return problems;
}

std::vector<ConfigProblem> ReadSettingText(std::string_view text, const std::string& source,
                                           const Setting& setting) {
  const std::string& key = setting.field.path;
  const auto node = runspec::ParseValueText(text, setting.slot);
  if (!node) {
    return {
        {.source = source,
         .key = key,
         .message = fmt::format("{} must be {}, not '{}'", key,
                                runspec::Expectation(setting.field, setting.slot), Excerpt(text))}};
  }
  auto problem = ReadSetting(setting, *node);
  if (!problem) return {};
  return {{.source = source,
           .key = key,
           .message = std::move(problem->message),
           .hint = std::move(problem->hint)}};
}

std::vector<ConfigProblem> FindMissingSettings(const std::string& program,
                                               const Settings& settings) {
  std::vector<ConfigProblem> problems;
  for (const Setting& setting : settings) {
    if (!setting.required || !std::get<std::string*>(setting.slot)->empty()) continue;
    const std::string& key = setting.field.path;
    problems.push_back({.source = program,
                        .key = key,
                        .message = key + " is required",
                        .hint = fmt::format("give {} {}, {} or {} in --config", setting.flag,
                                            setting.value_name, VariableOf(program, key), key)});
  }
  return problems;
}

}  // namespace gp::daemon
