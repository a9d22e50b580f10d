// Goal: labels and notes are written as they are typed, and printed so that they can be used again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class AnnotateCommands : public ::testing::Test {
 protected:
  AnnotateCommands() {
    gpctl_.environment["GPCTL_SERVER"] = service_.address();
    service_.AddRun(MakeRun("tiny", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED));
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(AnnotateCommands, LabelsAreSetRemovedAndPrinted) {
  const Outcome set = gpctl_.Run({"label", "tiny", "team=research", "goal=a=b"});
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_EQ(set.out, "tiny (aaaaaaaa01): goal=a=b, team=research\n");
  EXPECT_EQ(gpctl_.Run({"label", "tiny", "goal-"}).out, "tiny (aaaaaaaa01): team=research\n");
  EXPECT_EQ(gpctl_.Run({"label", "tiny"}).out, "team=research\n");
  EXPECT_EQ(gpctl_.Run({"label", "tiny", "team-"}).out, "tiny (aaaaaaaa01): no labels\n");
  const Outcome none = gpctl_.Run({"label", "tiny"});
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(none.err, "tiny has no labels.\n");
}

TEST_F(AnnotateCommands, AChangeThatIsNeitherIsExplainedBeforeAnythingIsChanged) {
  for (const char* wrong : {"team", "=x", "-"}) {
    const Outcome outcome = gpctl_.Run({"label", "tiny", "a=b", wrong});
    EXPECT_EQ(outcome.code, 2) << wrong;
    EXPECT_THAT(outcome.err, HasSubstr("expected KEY=VALUE to set a label, or KEY- to remove it"));
  }
  EXPECT_THAT(gpctl_.Run({"label", "tiny", "a=1", "a=2"}).err,
              HasSubstr("label 'a' is given twice: '1' and '2'"));
  EXPECT_EQ(gpctl_.Run({"label", "tiny"}).out, "");
  EXPECT_EQ(gpctl_.Run({"label", "nobody", "a=b"}).code, 3);
}

TEST_F(AnnotateCommands, ANoteIsWrittenReadFromTheInputPrintedAndRemoved) {
  EXPECT_EQ(gpctl_.Run({"note", "tiny", "a lower", "rate"}).out, "tiny (aaaaaaaa01): note saved\n");
  EXPECT_EQ(gpctl_.Run({"note", "tiny"}).out, "a lower rate\n");
  gpctl_.input = "first line\nsecond line\n";
  EXPECT_EQ(gpctl_.Run({"note", "tiny", "-"}).code, 0);
  EXPECT_EQ(gpctl_.Run({"note", "tiny"}).out, "first line\nsecond line\n");
  EXPECT_EQ(gpctl_.Run({"note", "tiny", ""}).out, "tiny (aaaaaaaa01): note removed\n");
  const Outcome none = gpctl_.Run({"note", "tiny"});
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("note tiny TEXT"));
}

TEST_F(AnnotateCommands, StatusAndDocumentsShowThem) {
  gpctl_.Run({"label", "tiny", "team=research"});
  gpctl_.input = "first line\nsecond line\n";
  gpctl_.Run({"note", "tiny", "-"});
  const std::string status = gpctl_.Run({"status", "tiny"}).out;
  EXPECT_THAT(status, HasSubstr("  labels      team=research\n"));
  EXPECT_THAT(status, HasSubstr("  note        first line\n              second line\n"));
  const auto list = nlohmann::json::parse(gpctl_.Run({"list", "-a", "-o", "json"}).out);
  EXPECT_EQ(list["items"][0]["labels"]["team"], "research");
  EXPECT_EQ(list["items"][0]["note"], "first line\nsecond line");
  const auto one = nlohmann::json::parse(gpctl_.Run({"label", "tiny", "-o", "json"}).out);
  EXPECT_EQ(one["labels"]["team"], "research");
  const std::string lineage = gpctl_.Run({"lineage", "tiny"}).out;
  EXPECT_THAT(lineage, HasSubstr("   team=research: first line"));
  EXPECT_THAT(lineage, Not(HasSubstr("\nsecond line")));
}

}  // namespace
}  // namespace gp::testing
