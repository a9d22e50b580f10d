#include "tasks/run_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/tasks/text_file.h"

namespace gp::tasks {
namespace {

using testing::HasSubstr;

constexpr char kQuestion[] = R"({"question": "1 + 1 =", "choices": ["2", "3"], "label": 0})";
constexpr char kHellaSwagWithoutParts[] = R"({"ctx": "a", "endings": ["b", "c"], "label": 0})";

std::string ProblemOf(const runspec::EvalSpec& spec) {
  return Message(ReadRunTasks(spec).status());
}

TEST(RunTasks, AreReadUnderTheNamesOfTheirFiles) {
  const TextFile quiz(kQuestion, "quiz.jsonl"), other(kQuestion, "other.jsonl");
  const auto tasks = ReadRunTasks({.tasks = {quiz.path(), other.path()}});
  ASSERT_TRUE(tasks.ok()) << tasks.status();
  ASSERT_EQ(tasks->size(), 2u);
  EXPECT_EQ((*tasks)[0].name, "quiz");
  EXPECT_EQ((*tasks)[1].file.items.size(), 1u);
  EXPECT_TRUE(ReadRunTasks({})->empty());
}

TEST(RunTasks, TheFirstProblemIsNamed) {
  const TextFile quiz(kQuestion, "quiz.jsonl"), same(kQuestion, "quiz.jsonl"),
      bad("{}", "bad.jsonl"), parts(kHellaSwagWithoutParts, "parts.jsonl");
  EXPECT_THAT(ProblemOf({.tasks = {"/nowhere/quiz.jsonl"}}), HasSubstr("/nowhere/quiz.jsonl"));
  EXPECT_THAT(ProblemOf({.tasks = {quiz.path(), same.path()}}),
              HasSubstr("two files are called quiz"));
  EXPECT_THAT(ProblemOf({.tasks = {quiz.path(), bad.path()}}), HasSubstr("bad.jsonl:1: expected"));
  EXPECT_TRUE(ReadRunTasks({.tasks = {parts.path()}}).ok());
  EXPECT_THAT(ProblemOf({.tasks = {parts.path()}, .task_style = "harness"}),
              HasSubstr("parts.jsonl:1: the harness style needs"));
}

}  // namespace
}  // namespace gp::tasks
