#include "runspec/value_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/duration.h"
#include "base/local_path.h"
#include "base/text/excerpt.h"
#include "base/text/nearest_word.h"
#include "runspec/count.h"

namespace gp::runspec {
namespace {

using Problem = std::optional<ValueProblem>;

template <typename T>
std::optional<T> ParseNumber(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

struct Reader {
  const Field& field;
  const YamlNode& node;
  const Slot& slot;

  std::string Shown() const {
    if (node.kind != YamlNode::Kind::kScalar) return std::string(Describe(node.kind));
    return fmt::format("'{}'", Excerpt(node.scalar));
  }

  Problem Wrong(std::string hint = "") const { return Wrong(node, Shown(), std::move(hint)); }

  Problem Wrong(const YamlNode& at, const std::string& shown, std::string hint = "") const {
    const int width = at.kind == YamlNode::Kind::kScalar
                          ? static_cast<int>(at.scalar.size()) + (at.quoted ? 2 : 0)
                          : 1;
    return ValueProblem{
        at.mark, width,
        fmt::format("{} must be {}, not {}", field.path, Expectation(field, slot), shown),
        std::move(hint)};
  }

  bool IsPlainScalar() const { return node.kind == YamlNode::Kind::kScalar && !node.quoted; }

  bool InRange(double value) const {
    if (field.min_excluded ? value <= field.min : value < field.min) return false;
    return value <= field.max;
  }

  template <typename Integer>
  Problem ReadInteger(Integer* target) const {
    if (!IsPlainScalar()) return Wrong();
    const auto count = ParseCount(node.scalar);
    if (!count || !InRange(static_cast<double>(*count))) return Wrong();
    *target = static_cast<Integer>(*count);
    return std::nullopt;
  }

  Problem operator()(int* target) const { return ReadInteger(target); }
  Problem operator()(int64_t* target) const { return ReadInteger(target); }
  Problem operator()(uint64_t* target) const {
    if (!IsPlainScalar()) return Wrong();
    // A seed may use all 64 bits; a count has fewer.
    if (const auto whole = ParseNumber<uint64_t>(node.scalar)) {
      *target = *whole;
      return std::nullopt;
    }
    return ReadInteger(target);
  }
  Problem operator()(double* target) const {
    if (!IsPlainScalar()) return Wrong();
    const auto number = ParseNumber<double>(node.scalar);
    if (!number || !std::isfinite(*number) || !InRange(*number)) return Wrong();
    *target = *number;
    return std::nullopt;
  }
  Problem operator()(bool* target) const {
    if (!IsPlainScalar() || (node.scalar != "true" && node.scalar != "false")) return Wrong();
    *target = node.scalar == "true";
    return std::nullopt;
  }
  Problem operator()(std::optional<bool>* target) const {
    if (IsPlainScalar() && node.scalar == "auto") {
      target->reset();
      return std::nullopt;
    }
    bool value = false;
    Problem problem = (*this)(&value);
    if (!problem) *target = value;
    return problem;
  }
  Problem operator()(std::string* target) const {
    if (node.kind != YamlNode::Kind::kScalar) return Wrong();
    const bool known = field.choices.empty() || ChoiceIndex() || NamesFile(field, node.scalar);
    if (!known) return Wrong(Suggestion());
    *target = node.scalar;
    return std::nullopt;
  }
  Problem operator()(std::chrono::nanoseconds* target) const {
    if (!IsPlainScalar()) return Wrong();
    const auto duration = ParseDuration(node.scalar);
    if (!duration.ok() || !InRange(std::chrono::duration<double>(*duration).count())) {
      return Wrong();
    }
    *target = *duration;
    return std::nullopt;
  }
  Problem operator()(const EnumSlot& target) const {
    const auto index = ChoiceIndex();
    if (!index) return Wrong(Suggestion());
    target.set(target.member, static_cast<int>(*index));
    return std::nullopt;
  }
  Problem operator()(const AutoCountSlot& target) const {
    if (IsPlainScalar() && node.scalar == "auto") {
      *target.automatic = true;
      return std::nullopt;
    }
    Problem problem = ReadInteger(target.count);
    if (!problem) *target.automatic = false;
    return problem;
  }
  Problem operator()(std::vector<std::string>* target) const {
    if (node.kind == YamlNode::Kind::kScalar) {
      *target = {node.scalar};
      return std::nullopt;
    }
    if (node.kind != YamlNode::Kind::kSequence) return Wrong();
    std::vector<std::string> list;
    for (const YamlNode& item : node.items) {
      if (item.kind != YamlNode::Kind::kScalar || item.scalar.empty()) {
        const bool is_empty = item.kind == YamlNode::Kind::kScalar;
        const std::string_view what = is_empty ? "an empty text" : Describe(item.kind);
        return Wrong(item, fmt::format("{} inside it", what));
      }
      list.push_back(item.scalar);
    }
    *target = std::move(list);
    return std::nullopt;
  }
  Problem operator()(std::vector<double>* target) const {
    if (node.kind != YamlNode::Kind::kSequence) return Wrong();
    std::vector<double> numbers;
    for (const YamlNode& item : node.items) {
      const bool plain = item.kind == YamlNode::Kind::kScalar && !item.quoted;
      const auto number = plain ? ParseNumber<double>(item.scalar) : std::nullopt;
      if (!number || !std::isfinite(*number) || !InRange(*number)) {
        return Wrong(item, fmt::format("'{}' inside it", Excerpt(item.scalar)));
      }
      numbers.push_back(*number);
    }
    *target = std::move(numbers);
    return std::nullopt;
  }
  Problem operator()(std::map<std::string, std::string>* target) const {
    return ReadMap(target, [](const YamlNode& value) { return value.scalar; });
  }
  Problem operator()(std::map<std::string, double>* target) const {
    return ReadMap(target, [this](const YamlNode& value) -> std::optional<double> {
      const auto number = value.quoted ? std::nullopt : ParseNumber<double>(value.scalar);
      return number && std::isfinite(*number) && InRange(*number) ? number : std::nullopt;
    });
  }

  // `read` turns a scalar into a value, or into nullopt.
  template <typename T, typename Read>
  Problem ReadMap(std::map<std::string, T>* target, const Read& read) const {
    if (node.kind != YamlNode::Kind::kMap) return Wrong();
    std::map<std::string, T> pairs;
    for (const YamlEntry& entry : node.entries) {
      if (entry.value.kind != YamlNode::Kind::kScalar) {
        return Wrong(entry.value, fmt::format("{} inside it", Describe(entry.value.kind)));
      }
      const std::optional<T> value = read(entry.value);
      if (!value) {
        return Wrong(entry.value, fmt::format("'{}' inside it", Excerpt(entry.value.scalar)));
      }
      if (!pairs.emplace(entry.key, *value).second) {
        return ValueProblem{entry.key_mark, static_cast<int>(entry.key.size()),
                            fmt::format("{} has '{}' twice", field.path, Excerpt(entry.key)), ""};
      }
    }
    *target = std::move(pairs);
    return std::nullopt;
  }

  std::optional<size_t> ChoiceIndex() const {
    for (size_t i = 0; i < field.choices.size(); ++i) {
      if (node.kind == YamlNode::Kind::kScalar && field.choices[i] == node.scalar) return i;
    }
    return std::nullopt;
  }

  std::string Suggestion() const {
    const auto nearest = NearestWord(node.scalar, field.choices);
    return nearest ? fmt::format("did you mean '{}'?", *nearest) : "";
  }
};

Problem CheckPath(const Field& field, const YamlNode& node) {
  const Status status = CheckLocalPath(node.scalar);
  if (status.ok()) return std::nullopt;
  return ValueProblem{node.mark, static_cast<int>(node.scalar.size()),
                      fmt::format("{}: {}", field.path, Message(status)), ""};
}

// Path fields must name files on a machine, not addresses such as s3://bucket/file.
Problem CheckPaths(const Field& field, const YamlNode& node) {
  if (!field.is_path) return std::nullopt;
  if (node.kind == YamlNode::Kind::kScalar) return CheckPath(field, node);
  for (const YamlNode& item : node.items) {
    if (Problem problem = CheckPath(field, item)) return problem;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ValueProblem> ReadValue(const Field& field, const YamlNode& node, const Slot& slot) {
  if (node.kind == YamlNode::Kind::kNull) {
    return ValueProblem{
        node.mark, 1,
        fmt::format("{} has no value; it must be {}", field.path, Expectation(field, slot)),
        "leave the key out to keep its default"};
  }
  if (Problem problem = CheckPaths(field, node)) return problem;
  return std::visit([&](const auto& target) { return Reader{field, node, slot}(target); }, slot);
}

std::optional<YamlNode> ParseValueText(std::string_view text, const Slot& slot) {
  if (std::holds_alternative<std::string*>(slot)) {
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.scalar = text;
    return node;
  }
  auto parsed = ParseYaml(text, "");
  if (std::holds_alternative<ConfigProblem>(parsed)) return std::nullopt;
  return std::get<YamlNode>(std::move(parsed));
}

}  // namespace gp::runspec
