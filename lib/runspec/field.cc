#include "runspec/field.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gp::runspec {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string Range(const Field& field) {
  const bool low = field.min != -kInfinity, high = field.max != kInfinity;
  const std::string unit = field.unit.empty() ? "" : fmt::format(" ({})", field.unit);
  if (low && high) {
    return fmt::format(" {} {} and at most {}{}", field.min_excluded ? "above" : "of at least",
                       field.min, field.max, unit);
  }
  if (low) return fmt::format(" of at least {}{}", field.min, unit);
  return unit;
}

std::string FormatExactDuration(std::chrono::nanoseconds duration) {
  if (duration.count() % 1'000'000'000 == 0)
    return fmt::format("{}s", duration.count() / 1'000'000'000);
  return fmt::format("{}ms", static_cast<double>(duration.count()) / 1e6);
}

std::string LeastDuration(const Field& field) {
  if (field.min <= 0) return "";  // no duration is negative
  const auto least = std::chrono::duration<double>(field.min);
  return fmt::format(" of at least {}",
                     FormatExactDuration(std::chrono::round<std::chrono::nanoseconds>(least)));
}

struct ExpectationOf {
  const Field& field;
  std::string operator()(std::string*) const { return field.choices.empty() ? "text" : Choices(); }
  std::string operator()(bool*) const { return "true or false"; }
  std::string operator()(std::optional<bool>*) const { return "auto, true or false"; }
  std::string operator()(int*) const { return "a whole number" + Range(field); }
  std::string operator()(int64_t*) const { return "a whole number" + Range(field); }
  std::string operator()(uint64_t*) const { return "a whole number from 0 to 2^64 - 1"; }
  std::string operator()(double*) const { return "a number" + Range(field); }
  std::string operator()(std::chrono::nanoseconds*) const {
    return "a duration like 250ms, 90s, 5m or 1h30m" + LeastDuration(field);
  }
  std::string operator()(std::vector<std::string>*) const {
    return field.is_path ? "a list of files, like [a.txt, b.txt]" : "a list of text";
  }
  std::string operator()(std::vector<double>*) const {
    return "a list of numbers" + Range(field) + ", like [0.7, 0.3]";
  }
  std::string operator()(std::map<std::string, std::string>*) const {
    return "a map of text to text, like {team: blue}";
  }
  std::string operator()(std::map<std::string, double>*) const {
    return "a map of text to numbers" + Range(field);
  }
  std::string operator()(EnumSlot) const { return Choices(); }
  std::string operator()(AutoCountSlot) const { return "auto or a whole number" + Range(field); }

  std::string Choices() const {
    if (field.choices.size() == 1) return field.choices[0];
    return fmt::format("one of: {}{}", fmt::join(field.choices, ", "),
                       field.is_path ? ", or a path with a '/' or a '.' in it" : "");
  }
};

struct ValueText {
  const Field& field;
  std::string operator()(const std::string* text) const { return YamlScalar(*text); }
  std::string operator()(const bool* flag) const { return *flag ? "true" : "false"; }
  std::string operator()(const std::optional<bool>* flag) const {
    return flag->has_value() ? (*this)(&**flag) : "auto";
  }
  std::string operator()(const int* number) const { return fmt::format("{}", *number); }
  std::string operator()(const int64_t* number) const { return fmt::format("{}", *number); }
  std::string operator()(const uint64_t* number) const { return fmt::format("{}", *number); }
  std::string operator()(const double* number) const { return fmt::format("{}", *number); }
  std::string operator()(const std::chrono::nanoseconds* duration) const {
    return FormatExactDuration(*duration);
  }
  std::string operator()(const std::vector<std::string>* list) const {
    std::vector<std::string> parts;
    for (const std::string& item : *list) parts.push_back(YamlScalar(item));
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
  std::string operator()(const std::vector<double>* numbers) const {
    return fmt::format("[{}]", fmt::join(*numbers, ", "));
  }
  std::string operator()(const std::map<std::string, std::string>* pairs) const {
    std::vector<std::string> parts;
    for (const auto& [key, value] : *pairs) {
      parts.push_back(YamlScalar(key) + ": " + YamlScalar(value));
    }
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
  }
  std::string operator()(const std::map<std::string, double>* numbers) const {
    std::vector<std::string> parts;
    for (const auto& [key, value] : *numbers) {
      parts.push_back(fmt::format("{}: {}", YamlScalar(key), value));
    }
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
  }
  std::string operator()(const EnumSlot& slot) const {
    return field.choices.at(static_cast<size_t>(slot.get(slot.member)));
  }
  std::string operator()(const AutoCountSlot& slot) const {
    return *slot.automatic ? "auto" : fmt::format("{}", *slot.count);
  }
};

// Plain text that YAML reads unchanged: a word of harmless characters that is not a number, flag or
// null.
bool IsPlain(std::string_view text) {
  static constexpr std::string_view kHarmless =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
  if (text.empty() || text.find_first_not_of(kHarmless) != std::string_view::npos) return false;
  const char first = text[0];
  const bool wordlike =
      (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '/';
  return wordlike && text != "null" && text != "true" && text != "false";
}

}  // namespace

bool NamesFile(const Field& field, std::string_view value) {
  if (!field.is_path || std::count(field.choices.begin(), field.choices.end(), value) > 0) {
    return false;
  }
  return field.choices.empty() || value.find_first_of("/.") != std::string_view::npos;
}

std::string Expectation(const Field& field, const Slot& slot) {
  return std::visit(ExpectationOf{field}, slot);
}

std::string FormatValue(const Field& field, const Slot& slot) {
  return std::visit([&](const auto& value) { return ValueText{field}(value); }, slot);
}

std::string YamlScalar(std::string_view text) {
  if (IsPlain(text)) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + '"';
}

std::string ExplainField(const Field& field, const Slot& slot) {
  std::string text = fmt::format("{}\n  {}\n  must be   {}\n  default   {}\n", field.path,
                                 field.doc, Expectation(field, slot), FormatValue(field, slot));
  if (!field.unit.empty()) text += fmt::format("  unit      {}\n", field.unit);
  if (!field.also.empty()) {
    text += fmt::format("  elsewhere called {}\n", fmt::join(field.also, ", "));
  }
  return text;
}

std::string ListField(const Field& field, const Slot& slot) {
  return fmt::format("  {:<34}{:<18}{}\n", field.path, FormatValue(field, slot), field.doc);
}

}  // namespace gp::runspec
