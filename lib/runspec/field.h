// Field: describes one key of a configuration: its path, range, unit and meaning. Slot: a pointer
// to the variable for its value, which also defines the type. Run files (runspec/schema.h) and the
// settings of daemons (daemon/setting.h) are tables of fields, so the same code reads and explains
// both, and their messages have the same form. Values and pure functions; thread-safe.
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

namespace gp::runspec {

// A pointer to a variable of some enum type. The enum's value i has the name Field::choices[i].
struct EnumSlot {
  void* member;
  int (*get)(const void* member);
  void (*set)(void* member, int value);
};

// A count that may be `auto`. (A flag that may be `auto` is a std::optional<bool>.)
struct AutoCountSlot {
  int64_t* count;
  bool* automatic;
};

// The variant's alternative defines the key's type.
using Slot = std::variant<std::string*, bool*, std::optional<bool>*, int*, int64_t*, uint64_t*,
                          double*, std::chrono::nanoseconds*, std::vector<std::string>*,
                          std::vector<double>*, std::map<std::string, std::string>*,
                          std::map<std::string, double>*, EnumSlot, AutoCountSlot>;

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
  std::string doc;   // a sentence or two
  std::string unit;
  double min = -std::numeric_limits<double>::infinity();  // seconds for a duration
  double max = std::numeric_limits<double>::infinity();
  bool min_excluded = false;
  std::vector<std::string> choices;
  std::vector<std::string> also;  // names in other tools, for suggestions
  // A file name, relative to the file that has the value. With choices: one of them, or a file name
  // with a '/' or a '.' in it.
  bool is_path = false;
};

// Whether `value` of a path field is a file name rather than one of the field's choices.
bool NamesFile(const Field& field, std::string_view value);

// The fields of one table, for code that visits all of them.
using Fields = std::vector<const Field*>;

// The allowed values: "a whole number of at least 1", "one of: cosine, linear".
std::string Expectation(const Field& field, const Slot& slot);

// The value as a file would write it: 0.001, true, [a, b], "two words", 90s, auto.
std::string FormatValue(const Field& field, const Slot& slot);

// `text` as a YAML scalar; quoted when plain text would read as something else.
std::string YamlScalar(std::string_view text);

// A key's full description for people: meaning, type, default (the slot's value), unit, and its
// names in other tools.
std::string ExplainField(const Field& field, const Slot& slot);

// A key's description in one line of a list.
std::string ListField(const Field& field, const Slot& slot);

}  // namespace gp::runspec
