// Turns a YAML node into the value of one key, with the schema's type and range. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/yaml_reader.h"
#include "runspec/schema.h"

namespace gp::runspec {

// What is wrong with a value, and where inside its node.
struct ValueProblem {
  YamlMark mark;
  int width = 1;
  std::string message;
  std::string hint;
};

// Writes the value into `spec`, which is untouched when a problem is returned.
std::optional<ValueProblem> ReadValue(const Field& field, const YamlNode& node, RunSpec& spec);

}  // namespace gp::runspec
