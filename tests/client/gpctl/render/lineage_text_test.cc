// Goal: the tree shows each run below the one that it began from, with what changed.
#include "client/gpctl/render/lineage_text.h"

#include <gtest/gtest.h>

#include "runspec/run_file.h"

namespace gp::gpctl {
namespace {

std::string FileWithRate(double lr) {
  runspec::RunSpec spec;
  spec.data.text = {"/text.txt"};
  spec.data.tokenizer = "bytes";
  spec.budget.steps = 30;
  spec.optimizer.lr = lr;
  return runspec::ResolvedYaml(spec);
}

v1::Run RunOf(const std::string& id, double lr, const std::string& parent = "", int leg = 1) {
  v1::Run run;
  run.set_run_id(id);
  run.set_name("name-" + id);
  run.set_state(v1::RUN_STATE_SUCCEEDED);
  run.mutable_progress()->set_step(30);
  run.set_resolved(FileWithRate(lr));
  v1::Leg& first = *run.add_legs();
  first.set_number(1);
  first.set_resolved(FileWithRate(lr));
  if (parent.empty()) return run;
  run.mutable_parent()->set_run_id(parent);
  run.mutable_parent()->set_run_name("name-" + parent);
  run.mutable_parent()->set_leg(leg);
  run.mutable_parent()->set_step(15);
  return run;
}

TEST(Lineage, ShowsForksBelowTheirParentsAndWhatChanged) {
  const Lineage lineage(
      {RunOf("a", 1e-3), RunOf("b", 5e-4, "a"), RunOf("c", 5e-4, "b"), RunOf("d", 1e-3, "a")}, "c");
  EXPECT_EQ(lineage.Text(/*utf8=*/false),
            "name-a (a)  succeeded, step 30\n"
            "|- name-b (b)  succeeded, step 30  from name-a@15  optimizer.lr 0.001 -> 0.0005\n"
            "|  `- name-c (c) *  succeeded, step 30  from name-b@15\n"
            "`- name-d (d)  succeeded, step 30  from name-a@15\n");
}

TEST(Lineage, BreaksLinesInsideTheTree) {
  const Lineage lineage(
      {RunOf("a", 1e-3), RunOf("b", 5e-4, "a"), RunOf("c", 5e-4, "b"), RunOf("d", 1e-3, "a")}, "c");
  EXPECT_EQ(lineage.Text(/*utf8=*/false, 60),
            "name-a (a)  succeeded, step 30\n"
            "|- name-b (b)  succeeded, step 30  from name-a@15\n"
            "|     optimizer.lr 0.001 -> 0.0005\n"
            "|  `- name-c (c) *  succeeded, step 30  from name-b@15\n"
            "`- name-d (d)  succeeded, step 30  from name-a@15\n");
}

TEST(Lineage, ALegShowsWhereItBeganAndAForkIsComparedWithItsOwnLeg) {
  v1::Run base = RunOf("a", 1e-3);
  v1::Leg& second = *base.add_legs();
  second.set_number(2);
  second.set_first_step(30);
  second.set_why_begun("extended to 50 steps");
  second.set_resolved(FileWithRate(2e-3));
  const Lineage lineage({base, RunOf("b", 2e-3, "a", /*leg=*/2)}, "a");
  EXPECT_EQ(lineage.Text(/*utf8=*/false),
            "name-a (a) *  succeeded, step 30\n"
            "   leg 2 from step 30: extended to 50 steps  optimizer.lr 0.001 -> 0.002\n"
            "`- name-b (b)  succeeded, step 30  from name-a@15\n");
}

TEST(Lineage, AnUnknownParentAndADamagedCircleAreShownOnce) {
  EXPECT_EQ(Lineage({RunOf("b", 1e-3, "gone")}, "b").Text(false),
            "name-b (b) *  succeeded, step 30  from name-gone@15\n");
  const std::string circle = Lineage({RunOf("a", 1, "b"), RunOf("b", 1, "a")}, "a").Text(false);
  EXPECT_NE(circle.find("name-a"), std::string::npos);
}

TEST(Lineage, FieldsHaveParentsAndChanges) {
  const Json fields = Lineage({RunOf("a", 1e-3), RunOf("b", 5e-4, "a")}, "b").Fields();
  EXPECT_EQ(fields["root"], "a");
  EXPECT_EQ(fields["runs"][1]["parent"]["step"], 15);
  EXPECT_EQ(fields["runs"][1]["changed"]["optimizer.lr"]["after"], "0.0005");
}

}  // namespace
}  // namespace gp::gpctl
