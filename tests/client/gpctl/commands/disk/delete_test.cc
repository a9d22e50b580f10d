// Goal: nobody deletes a run by accident, and everybody sees what it frees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DeleteCommand : public ::testing::Test {
 protected:
  DeleteCommand() { gpctl_.environment["GPCTL_SERVER"] = service_.address(); }

  void Add(const std::string& name, const std::string& id,
           const std::map<std::string, std::string>& children = {}) {
    service_.AddRun(MakeRun(name, id, v1::RUN_STATE_SUCCEEDED));
    v1::DeleteRunResponse deletion;
    deletion.set_run_id(id);
    deletion.set_run_name(name);
    deletion.set_checkpoints(3);
    deletion.set_freed_bytes(uint64_t{3} << 20);
    deletion.mutable_children()->insert(children.begin(), children.end());
    service_.storage().SetDeletion(deletion);
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(DeleteCommand, WithYesItDeletesAndSaysWhatIsFreed) {
  Add("tiny", "aaaaaaaa01");
  const Outcome deleted = gpctl_.Run({"delete", "tiny", "--yes"});
  EXPECT_EQ(deleted.code, 0) << deleted.err;
  EXPECT_EQ(deleted.out, "tiny (aaaaaaaa01): 3.0 MiB freed, 3 checkpoints\n");
  EXPECT_THAT(service_.storage().deleted(), ElementsAre("aaaaaaaa01"));
}

TEST_F(DeleteCommand, WithoutATerminalAndWithoutYesItRefuses) {
  Add("tiny", "aaaaaaaa01");
  const Outcome refused = gpctl_.Run({"delete", "tiny"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("nothing was deleted; a deletion needs a 'y' or --yes"));
  EXPECT_THAT(service_.storage().deleted(), IsEmpty());
}

TEST_F(DeleteCommand, AtATerminalItAsks) {
  Add("tiny", "aaaaaaaa01");
  gpctl_.typing = true;
  gpctl_.input = "n\n";
  EXPECT_NE(gpctl_.Run({"delete", "tiny"}).code, 0);
  EXPECT_THAT(service_.storage().deleted(), IsEmpty());
  gpctl_.input = "y\n";
  const Outcome deleted = gpctl_.Run({"delete", "tiny"});
  EXPECT_EQ(deleted.code, 0) << deleted.err;
  EXPECT_THAT(deleted.err, HasSubstr("Delete 1 run for good and free 3.0 MiB? [y/N]"));
  EXPECT_THAT(service_.storage().deleted(), ElementsAre("aaaaaaaa01"));
}

TEST_F(DeleteCommand, ADryRunDeletesNothing) {
  Add("tiny", "aaaaaaaa01");
  EXPECT_EQ(gpctl_.Run({"delete", "tiny", "--dry-run"}).out,
            "tiny (aaaaaaaa01): 3.0 MiB to be freed, 3 checkpoints\n");
  EXPECT_THAT(gpctl_.Run({"delete", "tiny", "--dry-run", "-o", "json"}).out,
              HasSubstr("\"deleted\":false"));
  EXPECT_THAT(service_.storage().deleted(), IsEmpty());
}

TEST_F(DeleteCommand, EachRunIsCheckedBeforeTheFirstIsDeleted) {
  Add("tiny", "aaaaaaaa01");
  const Outcome refused = gpctl_.Run({"delete", "tiny", "nobody", "--yes"});
  EXPECT_EQ(refused.code, 3) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("'nobody' does not exist"));
  EXPECT_THAT(service_.storage().deleted(), IsEmpty());
}

TEST_F(DeleteCommand, ABaseIsDeletedAfterTheRunsThatBeganFromIt) {
  Add("base", "aaaaaaaa01", {{"aaaaaaaa02", "child"}});
  Add("child", "aaaaaaaa02");
  const Outcome refused = gpctl_.Run({"delete", "base", "--yes"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("run child began from a checkpoint of base"));
  EXPECT_THAT(service_.storage().deleted(), IsEmpty());
  EXPECT_EQ(gpctl_.Run({"delete", "base", "child", "base", "--yes"}).code, 0);
  EXPECT_THAT(service_.storage().deleted(), ElementsAre("aaaaaaaa02", "aaaaaaaa01"));
}

TEST_F(DeleteCommand, ABaseMayGoWhileItsCheckpointsStay) {
  Add("base", "aaaaaaaa01", {{"aaaaaaaa02", "child"}});
  const Outcome deleted = gpctl_.Run({"delete", "base", "--yes", "--keep-checkpoints"});
  EXPECT_EQ(deleted.code, 0) << deleted.err;
  EXPECT_THAT(deleted.out, HasSubstr("3 checkpoints kept; base of child"));
}

}  // namespace
}  // namespace gp::testing
