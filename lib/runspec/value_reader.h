// Reads the value of one key from a YAML node, with the schema's type and range. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/yaml_reader.h"
#include "runspec/field.h"

namespace gp::runspec {

// A problem of a value, and its place inside the node.
struct ValueProblem {
  YamlMark mark;
  int width = 1;
  std::string message;
  std::string hint;
};

// Writes the value into `slot`. On a problem, `slot` is unchanged.
std::optional<ValueProblem> ReadValue(const Field& field, const YamlNode& node, const Slot& slot);

// The YAML node for a value that is given outside a file: by --set, a flag, or an environment
// variable. For a key of type text the value is taken as it is; for other types it is parsed as
// YAML. Nullopt when it is not valid YAML.
std::optional<YamlNode> ParseValueText(std::string_view text, const Slot& slot);

}  // namespace gp::runspec
