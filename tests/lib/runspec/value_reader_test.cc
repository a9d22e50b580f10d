// Goal: every key of the schema accepts all values in its range, including the limits, and changes
// only its own member.
#include "runspec/value_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runspec/schema.h"

namespace gp::runspec {
namespace {

YamlNode Scalar(const std::string& text) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.scalar = text;
  return node;
}

bool IsNumber(const RunField& field) {
  RunSpec spec;
  const Slot slot = field.slot(spec);
  return std::holds_alternative<int*>(slot) || std::holds_alternative<int64_t*>(slot) ||
         std::holds_alternative<double*>(slot);
}

bool IsWhole(const RunField& field) {
  RunSpec spec;
  return !std::holds_alternative<double*>(field.slot(spec));
}

constexpr double kExactMax = 9007199254740992;  // 2^53: a double represents every integer up to it

bool Takes(const RunField& field, double value) {
  RunSpec spec;
  const std::string text =
      IsWhole(field) ? std::to_string(static_cast<int64_t>(value)) : fmt::format("{}", value);
  return !ReadValue(field, Scalar(text), field.slot(spec)).has_value();
}

TEST(ValueReader, RangesHoldAtTheirEdges) {
  int checked = 0;
  for (const RunField& field : Schema()) {
    if (!IsNumber(field) || !std::isfinite(field.min) || !(field.max < kExactMax)) continue;
    SCOPED_TRACE(field.path);
    const double step = IsWhole(field) ? 1 : (field.max - field.min) / 1024;
    EXPECT_EQ(Takes(field, field.min), !field.min_excluded);
    EXPECT_TRUE(Takes(field, field.min + step));
    EXPECT_TRUE(Takes(field, field.max));
    EXPECT_FALSE(Takes(field, field.min - step));
    EXPECT_FALSE(Takes(field, field.max + step));
    ++checked;
  }
  EXPECT_GT(checked, 10) << "the schema has that many numbers";
}

// A value that `field` accepts and that differs from the default.
std::optional<YamlNode> AnotherValue(const RunField& field) {
  RunSpec unset;
  const std::string before = FormatValue(field, unset);
  std::vector<std::string> texts = field.choices;
  for (const char* text : {"true", "false", "3", "2", "0.5", "0.25", "7s", "some/text"}) {
    texts.emplace_back(text);
  }
  for (const std::string& text : texts) {
    RunSpec spec;
    if (!ReadValue(field, Scalar(text), field.slot(spec)) && FormatValue(field, spec) != before) {
      return Scalar(text);
    }
  }
  return std::nullopt;
}

TEST(ValueReader, EveryKeyWritesItsOwnMemberAndNoOther) {
  for (const RunField& field : Schema()) {
    const auto value = AnotherValue(field);
    if (!value) continue;  // the field is a map
    RunSpec unset, spec;
    ASSERT_FALSE(ReadValue(field, *value, field.slot(spec)).has_value()) << field.path;
    std::vector<std::string> changed;
    for (const RunField& other : Schema()) {
      if (FormatValue(other, spec) != FormatValue(other, unset)) changed.push_back(other.path);
    }
    EXPECT_EQ(changed, std::vector<std::string>{field.path});
  }
}

TEST(ValueReader, ABadValueChangesNoKey) {
  YamlNode map;
  map.kind = YamlNode::Kind::kMap;
  YamlNode bad;  // no key accepts a list of maps
  bad.kind = YamlNode::Kind::kSequence;
  bad.items = {map};
  for (const RunField& field : Schema()) {
    SCOPED_TRACE(field.path);
    RunSpec spec;
    if (const auto value = AnotherValue(field)) ReadValue(field, *value, field.slot(spec));
    const std::string before = FormatValue(field, spec);
    EXPECT_TRUE(ReadValue(field, bad, field.slot(spec)).has_value());
    EXPECT_EQ(FormatValue(field, spec), before);
  }
}

TEST(ValueReader, AListOfNumbersIsReadWholeOrNamesTheBadOne) {
  const RunField& field = *FindField("data.weights");
  const auto read = [&](const std::string& text, RunSpec& spec) {
    const Slot slot = field.slot(spec);
    return ReadValue(field, *ParseValueText(text, slot), slot);
  };
  RunSpec spec;
  EXPECT_FALSE(read("[0.7, 3, 1e-3]", spec).has_value());
  EXPECT_EQ(spec.data.weights, (std::vector<double>{0.7, 3, 1e-3}));
  EXPECT_EQ(FormatValue(field, spec), "[0.7, 3, 0.001]");
  for (const char* text : {"[1, 0]", "[1, -1]", "[a]", "[1, .inf]", "['1']", "1", "{a: 1}"}) {
    const auto problem = read(text, spec);
    ASSERT_TRUE(problem.has_value()) << text;
    EXPECT_NE(problem->message.find("data.weights must be a list of numbers above 0"),
              std::string::npos)
        << problem->message;
  }
  EXPECT_EQ(spec.data.weights.size(), 3u) << "a bad list changes nothing";
}

TEST(ValueReader, AListOfTextSaysWhatIsInItInstead) {
  const Field field{.path = "names"};
  std::vector<std::string> names;
  YamlNode list;
  list.kind = YamlNode::Kind::kSequence;
  list.items = {Scalar("a"), Scalar("")};
  EXPECT_EQ(ReadValue(field, list, Slot(&names))->message,
            "names must be a list of text, not an empty text inside it");
  list.items = {Scalar("a"), list};
  EXPECT_EQ(ReadValue(field, list, Slot(&names))->message,
            "names must be a list of text, not a list inside it");
}

TEST(ValueReader, EveryChoiceIsReadAsItself) {
  for (const RunField& field : Schema()) {
    for (const std::string& choice : field.choices) {
      RunSpec spec;
      ASSERT_FALSE(ReadValue(field, Scalar(choice), field.slot(spec)).has_value()) << field.path;
      EXPECT_EQ(FormatValue(field, spec), choice) << field.path;
    }
  }
}

}  // namespace
}  // namespace gp::runspec
