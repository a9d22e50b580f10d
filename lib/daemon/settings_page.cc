#include "daemon/settings_page.h"

#include <algorithm>

#include "runspec/key_suggestion.h"

namespace gp::daemon {
namespace {

std::string ExplainSetting(const std::string& program, const Setting& setting) {
  std::string text = runspec::ExplainField(setting.field, setting.slot);
  if (setting.required) text += "  required\n";
  if (!setting.flag.empty()) {
    text += fmt::format("  flag      {} {}\n", setting.flag, setting.value_name);
  }
  return text + fmt::format("  variable  {}\n", VariableOf(program, setting.field.path));
}

std::string ListSettings(const Settings& settings, const std::string& prefix) {
  std::string text;
  for (const Setting& setting : settings) {
    if (!setting.field.path.starts_with(prefix)) continue;
    text += runspec::ListField(setting.field, setting.slot);
  }
  return text;
}

Status NoSuchKey(const std::string& program, const Settings& settings, const std::string& key) {
  runspec::Fields fields;
  for (const Setting& setting : settings) fields.push_back(&setting.field);
  const std::string near = runspec::SuggestKey(key, fields);
  return NotFound("{} has no setting '{}'{}; '{} --explain all' lists them", program, key,
                  near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near), program);
}

}  // namespace

StatusOr<std::string> ExplainSettings(const std::string& program, const Settings& settings,
                                      const std::string& key) {
  if (key.empty()) {
    return fmt::format("The settings of {}, their defaults and meanings:\n{}", program,
                       ListSettings(settings, ""));
  }
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& one) { return one.field.path == key; });
  if (found != settings.end()) return ExplainSetting(program, *found);
  const std::string group = ListSettings(settings, key + ".");
  if (!group.empty()) return key + "\n" + group;
  return NoSuchKey(program, settings, key);
}

}  // namespace gp::daemon
