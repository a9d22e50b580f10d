#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

v1::CurvePoints CurveOf(const std::string& field, const std::vector<double>& values) {
  v1::CurvePoints curve;
  curve.set_field(field);
  for (size_t i = 0; i < values.size(); ++i) {
    curve.add_steps(static_cast<int64_t>(i) + 1);
    curve.add_tokens((static_cast<int64_t>(i) + 1) * 1000);
    curve.add_seconds(static_cast<double>(i) * 60);
    curve.add_values(values[i]);
  }
  return curve;
}

class PlotTest : public ::testing::Test {
 protected:
  PlotTest() { gpctl_.environment["GPCTL_SERVER"] = service_.address(); }

  void AddRun(const std::string& name, const std::string& id,
              const std::vector<double>& loss = {5, 4, 3.5, 3.25}) {
    service_.AddRun(MakeRun(name, id, v1::RUN_STATE_RUNNING));
    service_.SetCurve(id, CurveOf("loss", loss));
  }

  Outcome Run(const std::vector<std::string>& arguments) { return gpctl_.Run(arguments); }
  std::string Written(const std::string& name) const {
    return ReadFile(gpctl_.home() + "/" + name).value();
  }

  void WriteProgram(const std::string& name, const std::string& body) {
    const std::string path = gpctl_.home() + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << body;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(PlotTest, DrawsInTheTerminal) {
  AddRun("tiny", "aaaaaaaaaa");
  const Outcome outcome = Run({"plot", "tiny", "--y", "loss"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("loss (nats per token)"));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("steps →"), HasSubstr("── loss 3.25"), HasSubstr("┤")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 20);
  EXPECT_EQ(service_.last_curves().run(), "aaaaaaaaaa");
  EXPECT_GE(service_.last_curves().max_points(), 80);
}

TEST_F(PlotTest, DrawsInAsciiWhereTheLocaleIsNotUtf8) {
  AddRun("tiny", "aaaaaaaaaa");
  gpctl_.environment["LANG"] = "C";
  const Outcome outcome = Run({"plot", "tiny", "--y", "loss"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char c : outcome.out) ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
}

TEST_F(PlotTest, HasColorsOnATerminalThatWantsThem) {
  AddRun("tiny", "aaaaaaaaaa");
  gpctl_.terminal = true;
  EXPECT_THAT(Run({"plot", "tiny"}).out, HasSubstr("\x1b[94m"));
  gpctl_.environment["NO_COLOR"] = "1";
  EXPECT_THAT(Run({"plot", "tiny"}).out, Not(HasSubstr("\x1b")));
}

TEST_F(PlotTest, TwoFieldsOfOneRunHaveTwoColors) {
  AddRun("tiny", "aaaaaaaaaa");
  service_.SetCurve("aaaaaaaaaa", CurveOf("val_loss", {5.5, 4.5, 4, 3.75}));
  gpctl_.terminal = true;
  const Outcome outcome = Run({"plot", "tiny"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("\x1b[94m"), HasSubstr("\x1b[33m")));
}

TEST_F(PlotTest, DrawsTheSecondFieldOfSeveralRunsDashed) {
  AddRun("base", "aaaaaaaaaa", {3, 3, 3});
  AddRun("other", "bbbbbbbbbb", {5, 5, 5});
  service_.SetCurve("aaaaaaaaaa", CurveOf("val_loss", {4, 4, 4}));
  const Outcome outcome = Run({"plot", "base", "other"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("loss, val_loss dashed (nats per token)"));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("AAA   AAA"), HasSubstr("bbbbbbbbb"),
                                 HasSubstr("a base 3   b other 5")));
  gpctl_.terminal = true;
  EXPECT_THAT(Run({"plot", "base", "other"}).out, HasSubstr("\x1b[0m   \x1b[94m"));
}

TEST_F(PlotTest, DrawsSixteenRunsApart) {
  for (int i = 0; i < 16; ++i) {
    AddRun("run-with-a-name-of-some-length-" + std::to_string(i),
           "aaaaaaaa" + std::to_string(10 + i), {4.0 + i, 3.0 + i});
  }
  std::vector<std::string> words = {"plot", "--y", "loss"};
  for (int i = 0; i < 16; ++i) words.push_back("aaaaaaaa" + std::to_string(10 + i));
  gpctl_.terminal = true;
  const Outcome outcome = Run(words);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("loss; from run 9 on dotted (nats per token)"));
  for (int i = 0; i < 16; ++i) {
    EXPECT_THAT(outcome.out,
                HasSubstr(std::string(1, static_cast<char>('a' + i)) +
                          "\x1b[0m run-with-a-name-of-some-length-" + std::to_string(i) + " "));
  }
  words.insert(words.end(), {"-o", "a.svg"});
  ASSERT_EQ(Run(words).code, 0);
  const std::string svg = Written("a.svg");
  for (const char* name : {"length-7</text>", "length-15</text>"})
    EXPECT_THAT(svg, HasSubstr(name));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray=\"0.1 4.5\""));
}

TEST_F(PlotTest, RefusesMoreCurvesThanCanBeToldApart) {
  AddRun("base", "aaaaaaaaaa");
  AddRun("other", "bbbbbbbbbb");
  EXPECT_EQ(Run({"plot", "base", "--y", "loss+lr+mfu+grad_norm+step_seconds"}).code, 0);
  const Outcome outcome =
      Run({"plot", "base", "other", "--y", "loss+lr+mfu+grad_norm+step_seconds"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--y: 5 fields in one panel; expected at most 4 for 2 runs, "
                                     "which can be told apart; ',' instead of '+' begins another "
                                     "panel"));
  std::vector<std::string> words = {"plot"};
  for (int i = 0; i < 17; ++i) {
    words.push_back("aaaaaaaa" + std::to_string(10 + i));
    AddRun("run-" + std::to_string(i), words.back());
  }
  EXPECT_THAT(Run(words).err,
              HasSubstr("17 runs; expected at most 16, because more curves look alike"));
  words.pop_back();
  words.insert(words.end(), {"--y", "loss+val_loss+lr"});
  EXPECT_THAT(Run(words).err, HasSubstr("3 fields in one panel; expected at most 2 for 16 runs"));
}

TEST_F(PlotTest, WritesAnSvgWithTheNamesOfTheRuns) {
  AddRun("base", "aaaaaaaaaa");
  AddRun("other", "bbbbbbbbbb", {6, 5, 4});
  const Outcome outcome =
      Run({"plot", "base", "other", "--x", "tokens", "-o", "both.svg", "--theme", "dark"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "wrote both.svg\n");
  const std::string svg = Written("both.svg");
  EXPECT_THAT(svg, StartsWith("<svg "));
  EXPECT_THAT(svg, AllOf(HasSubstr(">base</text>"), HasSubstr(">other</text>"),
                         HasSubstr(">base and other</text>"), HasSubstr(">tokens</text>"),
                         HasSubstr("#151a22")));
}

TEST_F(PlotTest, SeveralFieldsAreSeveralPanels) {
  AddRun("tiny", "aaaaaaaaaa");
  service_.SetCurve("aaaaaaaaaa", CurveOf("lr", {1e-3, 2e-3}));
  service_.SetCurve("aaaaaaaaaa", CurveOf("val_loss", {4.5, 3.5}));
  ASSERT_EQ(Run({"plot", "tiny", "--y", "loss+val_loss,lr", "-o", "a.svg"}).code, 0);
  EXPECT_THAT(Written("a.svg"), AllOf(HasSubstr(">loss, val_loss dashed (nats per token)</text>"),
                                      HasSubstr(">lr</text>"), HasSubstr("stroke-dasharray")));
}

TEST_F(PlotTest, ReplacesAFile) {
  AddRun("tiny", "aaaaaaaaaa");
  std::ofstream(gpctl_.home() + "/a.svg") << "old";
  ASSERT_EQ(Run({"plot", "tiny", "-o", "a.svg"}).code, 0);
  EXPECT_THAT(Written("a.svg"), StartsWith("<svg "));
}

TEST_F(PlotTest, MakesAPngWithRsvgConvert) {
  AddRun("tiny", "aaaaaaaaaa");
  gpctl_.environment["PATH"] = gpctl_.home();
  const Outcome missing = Run({"plot", "tiny", "-o", "a.png"});
  EXPECT_EQ(missing.code, 5);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("librsvg2-bin"), HasSubstr("-o a.svg")));
  WriteProgram("rsvg-convert", "echo PNG; while read -r line; do echo \"$line\"; done < $5\n");
  const Outcome outcome = Run({"plot", "tiny", "-o", "a.png"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(Written("a.png"), StartsWith("PNG\n<svg "));
  WriteProgram("rsvg-convert", "exit 3\n");
  EXPECT_NE(Run({"plot", "tiny", "-o", "b.png"}).code, 0);
  EXPECT_FALSE(FileExists(gpctl_.home() + "/b.png"));
}

TEST_F(PlotTest, RefusesOtherFiles) {
  AddRun("tiny", "aaaaaaaaaa");
  for (const char* name : {"json", "a.pdf", "plot"}) {
    const Outcome outcome = Run({"plot", "tiny", "-o", name});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("ends in .svg or .png"));
  }
  const Outcome outcome = Run({"plot", "tiny", "-o", "missing/a.svg"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("missing/a.svg"));
}

TEST_F(PlotTest, AsksForEveryPointToSmooth) {
  AddRun("tiny", "aaaaaaaaaa", {1, 9, 1, 9, 1, 9, 1});
  const Outcome outcome = Run({"plot", "tiny", "--smooth", "3"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("mean of 3 steps"));
  EXPECT_EQ(service_.last_curves().max_points(), 0);
  EXPECT_EQ(Run({"plot", "tiny", "--smooth", "0"}).code, 2);
}

TEST_F(PlotTest, NamesAnUnknownRun) {
  AddRun("tiny", "aaaaaaaaaa");
  const Outcome outcome = Run({"plot", "tiny", "tinny"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("tinny"));
}

TEST_F(PlotTest, ListsWhatTheRunHasForAnUnknownField) {
  v1::Run run = MakeRun("tiny", "aaaaaaaaaa", v1::RUN_STATE_RUNNING);
  auto& score = *run.mutable_progress()->add_scores();
  score.set_name("sums/completion/acc");
  service_.AddRun(run);
  const Outcome outcome = Run({"plot", "tiny", "--y", "los"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("nothing is recorded as 'los'; did you mean 'loss'?"),
                                 HasSubstr("tiny has: loss, lr, grad_norm, tokens_per_second, mfu, "
                                           "step_seconds, val_loss, sums/completion/acc")));
  EXPECT_EQ(Run({"plot", "tiny", "--y", "loss++lr"}).code, 2);
  EXPECT_EQ(Run({"plot", "tiny", "--y", ""}).code, 2);
}

TEST_F(PlotTest, SaysWhyARunHasNoPoints) {
  v1::Run queued = MakeRun("waiting", "aaaaaaaaaa", v1::RUN_STATE_QUEUED);
  queued.clear_progress();
  queued.set_reason("needs 2 slots, 0 are free");
  service_.AddRun(queued);
  const Outcome outcome = Run({"plot", "waiting"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("waiting has no points yet: it is queued (needs 2 slots"));
  v1::Run running = MakeRun("fresh", "bbbbbbbbbb", v1::RUN_STATE_RUNNING);
  running.clear_progress();
  service_.AddRun(running);
  EXPECT_THAT(Run({"plot", "fresh"}).err,
              AllOf(HasSubstr("it has been running for "), HasSubstr("has not finished a step")));
  v1::Run failed = MakeRun("broken", "cccccccccc", v1::RUN_STATE_FAILED);
  failed.clear_progress();
  failed.set_reason("no such file");
  service_.AddRun(failed);
  EXPECT_THAT(Run({"plot", "broken"}).err,
              HasSubstr("broken has no points: it failed before its first step (no such file)"));
  AddRun("tiny", "dddddddddd");
  const Outcome both = Run({"plot", "tiny", "waiting"});
  EXPECT_EQ(both.code, 0);
  EXPECT_THAT(both.out, HasSubstr("waiting has no points yet"));
}

TEST_F(PlotTest, SaysThatARunWasNotEvaluated) {
  AddRun("tiny", "aaaaaaaaaa");
  const Outcome outcome = Run({"plot", "tiny", "--y", "val_loss"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("tiny has no val_loss: it was not evaluated yet"));
}

TEST_F(PlotTest, DrawsOnePointEqualValuesAndGaps) {
  AddRun("one", "aaaaaaaaaa", {3.5});
  EXPECT_THAT(Run({"plot", "one"}).out, HasSubstr("loss 3.5"));
  AddRun("flat", "bbbbbbbbbb", {3, 3, 3});
  EXPECT_EQ(Run({"plot", "flat"}).code, 0);
  AddRun("diverged", "cccccccccc", {5, 4, NAN, NAN, INFINITY});
  EXPECT_THAT(Run({"plot", "diverged"}).out, HasSubstr("loss: not finite from step 3 to step 5"));
  const Outcome picture = Run({"plot", "diverged", "-o", "a.svg"});
  EXPECT_EQ(picture.err,
            "note: diverged has no val_loss: it was not evaluated yet\n"
            "note: loss: not finite from step 3 to step 5\n");
  EXPECT_THAT(Written("a.svg"), HasSubstr("loss: not finite from step 3 to step 5"));
  AddRun("all-nan", "dddddddddd", {NAN, NAN});
  EXPECT_THAT(Run({"plot", "all-nan"}).out, HasSubstr("loss: nan from step 1 to step 2"));
}

TEST_F(PlotTest, SaysWhatALogarithmicAxisLeavesOut) {
  AddRun("tiny", "aaaaaaaaaa", {0, 1, 10});
  const Outcome outcome = Run({"plot", "tiny", "--log"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("logarithmic y axis"),
                                 HasSubstr("loss: 0 or less, so not on the logarithmic axis, at "
                                           "step 1")));
}

TEST_F(PlotTest, TellsRunsOfOneNameApart) {
  AddRun("tiny", "aaaaaaaaaa");
  AddRun("tiny", "bbbbbbbbbb");
  ASSERT_EQ(Run({"plot", "aaaaaaaaaa", "bbbbbbbbbb", "-o", "a.svg"}).code, 0);
  EXPECT_THAT(Written("a.svg"), AllOf(HasSubstr(">tiny (aaaaaaaaaa)</text>"),
                                      HasSubstr(">tiny (bbbbbbbbbb)</text>")));
  const Outcome twice = Run({"plot", "aaaaaaaaaa", "aaaaaaaaaa"});
  EXPECT_EQ(twice.code, 0);
  EXPECT_THAT(twice.err, HasSubstr("tiny is named twice"));
}

}  // namespace
}  // namespace gp::testing
