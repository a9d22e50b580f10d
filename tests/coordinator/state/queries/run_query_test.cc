#include "coordinator/state/queries/run_query.h"

#include <gtest/gtest.h>

namespace gp::coordinator {
namespace {

using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

Timestamp At(int64_t seconds) { return Timestamp(std::chrono::seconds(seconds)); }

RunValue Tiny() {
  Submission submission;
  submission.name = "Tiny.2";
  submission.run_namespace = "research";
  RunValue run;
  run.labels = {{"team", "a"}, {"goal", "b=c"}};
  run.id = RunId("abc123");
  run.submission = std::make_shared<const Submission>(submission);
  run.submitted_by = "user ann";
  run.submitted_at = At(100);
  run.state = RunState::kRunning;
  return run;
}

TEST(RunQuery, MatchesWhatPassesEveryFilter) {
  const std::set<std::string> research = {"research"};
  const RunQuery fitting[] = {{},
                              {.namespaces = research},
                              {.states = {RunState::kFailed, RunState::kRunning}},
                              {.submitted_by = "user ann"},
                              {.labels = {{"goal", "b=c"}}},
                              {.labels = {{"goal", "b=c"}, {"team", "a"}}},
                              {.submitted_since = At(100)},
                              {.search = "tiny."},
                              {.search = "Y.2"},
                              {.search = "ABC"}};
  for (const RunQuery& query : fitting) EXPECT_TRUE(Matches(query, Tiny())) << CanonicalText(query);
  const RunQuery others[] = {{.namespaces = std::set<std::string>()},
                             {.namespaces = std::set<std::string>{"default"}},
                             {.states = {RunState::kFailed}},
                             {.submitted_by = "ann"},
                             {.labels = {{"team", "A"}}},
                             {.labels = {{"goal", "b=c"}, {"other", ""}}},
                             {.submitted_since = At(101)},
                             {.search = "bc123"},
                             {.search = "tiny_2"}};
  for (const RunQuery& query : others) EXPECT_FALSE(Matches(query, Tiny())) << CanonicalText(query);
}

TEST(RunQuery, ALabelIsComparedAsOneTextSinceItsKeyMayHoldAnEqualsSign) {
  RunValue run = Tiny();
  run.labels = {{"k=v", "x=y"}, {"a=b", "1"}, {"a=c", "2"}};
  for (const LabelParts& label : {LabelParts("k", "v=x=y"), LabelParts("k=v", "x=y"),
                                  LabelParts("k=v=x", "y"), LabelParts("a=b", "1")}) {
    EXPECT_TRUE(Matches({.labels = {DivideLabel(label.first, label.second)}}, run)) << label.first;
  }
  EXPECT_TRUE(Matches({.labels = {{"a", "b=1"}, {"a", "c=2"}}}, run));
  EXPECT_FALSE(Matches({.labels = {{"k", "v"}}}, run));
  EXPECT_FALSE(Matches({.labels = {{"a", "b=2"}}}, run));
}

TEST(RunQuery, ARunOfAnOlderVersionIsInTheNamespaceDefault) {
  RunValue run = Tiny();
  run.submission = std::make_shared<const Submission>();
  EXPECT_TRUE(Matches({.namespaces = std::set<std::string>{"default"}}, run));
}

TEST(RunQuery, QueriesThatDifferHaveDifferentTexts) {
  using Names = std::set<std::string>;
  const RunQuery queries[] = {{},
                              {.namespaces = Names{}},
                              {.namespaces = Names{"a"}},
                              {.namespaces = Names{"a", "b"}},
                              {.states = {RunState::kRunning}},
                              {.states = {RunState::kFailed}},
                              {.submitted_by = "a"},
                              {.labels = {{"a", ""}}},
                              {.labels = {{"", "a"}}},
                              {.labels = {{"a", "b"}}},
                              {.labels = {{"a", "1:b;"}}},
                              {.submitted_since = At(0)},
                              {.submitted_since = At(1)},
                              {.search = "a"}};
  std::set<std::string> texts;
  for (const RunQuery& query : queries) texts.insert(CanonicalText(query));
  EXPECT_EQ(texts.size(), std::size(queries));
  EXPECT_EQ(CanonicalText({.search = "Ab"}), CanonicalText({.search = "aB"})) << "they match alike";
}

}  // namespace
}  // namespace gp::coordinator
