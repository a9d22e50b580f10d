// The settings of a Python configuration file, such as nanoGPT's config/*.py, read without running
// it: assignments of literals and of arithmetic with numbers and names. Every other statement is
// reported, not interpreted. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"

namespace gp::gpctl {

// None, True or False, a whole number, another number, a string.
using PythonValue = std::variant<std::monostate, bool, int64_t, double, std::string>;

// As Python writes it: True, 12, 0.001, 'text'.
std::string PythonText(const PythonValue& value);

using PythonNames = std::map<std::string, PythonValue>;

struct PythonSetting {
  std::string name;
  PythonValue value;
  int line = 0;  // from 1; of the newest assignment
};

// A statement that sets nothing here.
struct SkippedStatement {
  int line = 0;
  std::string text;  // its beginning
  std::string why;   // "calls a function"
  std::string name;  // of the setting whose value is unknown after it; empty: none
};

struct PythonSettings {
  std::vector<PythonSetting> settings;  // one for each name, in the order of the first assignments
  std::vector<SkippedStatement> skipped;
  std::set<std::string> read;  // names that assignments read

  // Null if the file does not set it.
  const PythonSetting* Find(const std::string& name) const;
};

// `known`: names with values before the file begins. Reading ends where nanoGPT's programs run
// their configurator: what follows there is the program. Imports and bare strings set nothing and
// are not reported.
PythonSettings ReadPythonSettings(std::string_view text, const PythonNames& known);

// The value of one expression. InvalidArgument says what is in it that is neither a literal nor
// arithmetic. Adds the names in it to `read`.
StatusOr<PythonValue> EvaluatePython(std::string_view expression, const PythonNames& names,
                                     std::set<std::string>* read = nullptr);

}  // namespace gp::gpctl
