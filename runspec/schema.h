// The run file's schema: one table with every key's path, type, range, unit, default and meaning.
// Loading, --set, `gpctl explain`, the JSON Schema for editors, the resolved file and completion
// all walk it, so they cannot disagree. The table is built once and constant; thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "runspec/run_spec.h"

namespace gp::runspec {

// A member of some enum; its values are numbered in the order of Field::choices.
struct EnumSlot {
  void* member;
  int (*get)(const void* member);
  void (*set)(void* member, int value);
};

// A count that may be left open: `auto`. (A flag that may be is a std::optional<bool>.)
struct AutoCountSlot {
  int64_t* count;
  bool* automatic;
};

// Where a key's value lives in a RunSpec. The alternative is the key's type.
using Slot = std::variant<std::string*, bool*, std::optional<bool>*, int*, int64_t*, uint64_t*,
                          double*, std::chrono::nanoseconds*, std::vector<std::string>*,
                          std::map<std::string, std::string>*, EnumSlot, AutoCountSlot>;

template <typename T>
Slot SlotOf(T& member) {
  if constexpr (std::is_enum_v<T>) {
    return EnumSlot{&member,
                    [](const void* m) { return static_cast<int>(*static_cast<const T*>(m)); },
                    [](void* m, int value) { *static_cast<T*>(m) = static_cast<T>(value); }};
  } else {
    return &member;
  }
}

struct Field {
  std::string path;  // "optimizer.lr"
  Slot (*slot)(RunSpec& spec);
  std::string doc;  // a sentence or two
  std::string unit;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_excluded = false;
  std::vector<std::string> choices;
  std::vector<std::string> also;  // what other tools call it, for suggestions
  bool is_path = false;           // a file name, relative to where the value was written
};

// Every key, in the order of the file.
const std::vector<Field>& Schema();

// nullptr when there is no such key.
const Field* FindField(std::string_view path);

// True when keys live below `path` ("model").
bool IsGroup(std::string_view path);

// One sentence on what a group holds; empty for a path that is none.
std::string GroupDoc(std::string_view path);

// What a value must be: "a whole number, 1 or more", "one of: cosine, linear".
std::string Expectation(const Field& field);

// The value as the run file would write it: 0.001, true, [a, b], "two words", 90s, auto.
std::string FormatValue(const Field& field, const RunSpec& spec);

// `text` as a YAML scalar; quoted when plain text would read as something else.
std::string YamlScalar(std::string_view text);

}  // namespace gp::runspec
