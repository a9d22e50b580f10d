// Turns a YAML node into the value of one key, with the schema's type and range. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/yaml_reader.h"
#include "runspec/field.h"

namespace gp::runspec {

// What is wrong with a value, and where inside its node.
struct ValueProblem {
  YamlMark mark;
  int width = 1;
  std::string message;
  std::string hint;
};

// Writes the value into `slot`, which is untouched when a problem is returned.
std::optional<ValueProblem> ReadValue(const Field& field, const YamlNode& node, const Slot& slot);

// The node that `text` stands for where a value is given alone: by --set, a flag, an environment
// variable. Text is taken as it is, other types as YAML; nothing when it is no YAML.
std::optional<YamlNode> ParseValueText(std::string_view text, const Slot& slot);

}  // namespace gp::runspec
