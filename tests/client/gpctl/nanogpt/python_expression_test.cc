// Goal: arithmetic gives what Python gives; everything else is named and not guessed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/gpctl/nanogpt/python_settings.h"

namespace gp::gpctl {
namespace {

using ::testing::HasSubstr;

std::string Value(const std::string& expression, const PythonNames& names = {}) {
  const auto value = EvaluatePython(expression, names);
  return value.ok() ? PythonText(*value) : "refused: " + Message(value.status());
}

TEST(PythonExpression, ArithmeticIsThatOfPython) {
  const std::pair<const char*, const char*> cases[] = {{"5 * 8", "40"},
                                                       {"2**19", "524288"},
                                                       {"2 ** 3 ** 2", "512"},
                                                       {"-2 ** 2", "-4"},
                                                       {"600_000", "600000"},
                                                       {"1e-3", "0.001"},
                                                       {"6e-4 / 10", "5.9999999999999995e-05"},
                                                       {"7 / 2", "3.5"},
                                                       {"7 // 2", "3"},
                                                       {"-7 // 2", "-4"},
                                                       {"-7 % 3", "2"},
                                                       {"(1 + 2) * 3 - -4", "13"},
                                                       {"0x10", "16"},
                                                       {".5", "0.5"},
                                                       {"2 ** -1", "0.5"},
                                                       {"True + 1", "2"},
                                                       {"None", "None"},
                                                       {"1 ** 1_000_000_000", "1"}};
  for (const auto& [expression, value] : cases) EXPECT_EQ(Value(expression), value) << expression;
}

TEST(PythonExpression, StringsAreReadAndJoined) {
  EXPECT_EQ(Value("'a' + \"b\""), "'ab'");
  EXPECT_EQ(Value("'it''s'"), "'its'");
  EXPECT_EQ(Value("'''x'''"), "'x'");
  const auto escaped = EvaluatePython("'a\\n\\t\\\\\\''", {});
  ASSERT_TRUE(escaped.ok());
  EXPECT_EQ(std::get<std::string>(*escaped), "a\n\t\\'");
}

TEST(PythonExpression, NamesHaveTheirValuesAndAreRecorded) {
  const PythonNames names = {{"batch_size", int64_t{12}}, {"rate", 0.5}};
  std::set<std::string> read;
  const auto value = EvaluatePython("batch_size * 2 + rate", names, &read);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(PythonText(*value), "24.5");
  EXPECT_EQ(read, (std::set<std::string>{"batch_size", "rate"}));
}

TEST(PythonExpression, NothingIsCalledAndNothingIsGuessed) {
  EXPECT_EQ(Value("str(time.time())"), "refused: calls str()");
  EXPECT_EQ(Value("'ft-' + str(1)"), "refused: calls str()");
  EXPECT_EQ(Value("os.environ['X']"), "refused: reads a part of os");
  EXPECT_EQ(Value("'a'.upper()"), "refused: calls a function or reads a part of a value");
  EXPECT_EQ(Value("unknown"), "refused: reads 'unknown', which has no value before it");
  EXPECT_EQ(Value("1 / 0"), "refused: divides by 0");
  EXPECT_EQ(Value("'a' if 1 else 'b'"), "refused: is neither a literal nor arithmetic of numbers");
  EXPECT_EQ(Value("[1, 2]"), "refused: is neither a literal nor arithmetic of numbers");
  EXPECT_EQ(Value("'a' * 3"), "refused: is neither a literal nor arithmetic of numbers");
  EXPECT_EQ(Value("f'{x}'"), "refused: has a string with the prefix f, which is not supported");
  EXPECT_EQ(Value("'no end"), "refused: has a string without an end");
  EXPECT_EQ(Value(""), "refused: ends where a value is expected");
}

TEST(PythonExpression, HugeNumbersAndDeepNestingAreRefused) {
  EXPECT_EQ(Value("9223372036854775807 + 1"), "refused: has a number that is too large");
  EXPECT_EQ(Value("99999999999999999999"), "refused: has a number that is too large");
  EXPECT_EQ(Value("10 ** 400"), "refused: has a number that is too large");
  EXPECT_EQ(Value("10.0 ** 400"), "refused: has a number that is too large");
  EXPECT_EQ(Value("(-9223372036854775807 - 1) // -1"), "refused: has a number that is too large");
  EXPECT_THAT(Value(std::string(100'000, '(')), HasSubstr("nested too deeply"));
  EXPECT_THAT(Value(std::string(100'000, '-') + "1"), HasSubstr("nested too deeply"));
}

// Whatever is cut off, the answer is a value or a sentence.
TEST(PythonExpression, EveryBeginningOfAnExpressionIsAnswered) {
  const std::string whole = "(2 ** 3 + -batch_size * 0x1f) // 7 % 5e-1 + len('a\\'b')";
  for (size_t size = 0; size <= whole.size(); ++size) {
    EXPECT_NE(Value(whole.substr(0, size), {{"batch_size", int64_t{1}}}), "");
  }
}

}  // namespace
}  // namespace gp::gpctl
