// Goal: a lying coordinator cannot make a trainer work outside the storage root.
#include "worker/agent/assignment_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::agent {
namespace {

using ::testing::HasSubstr;

v1::Assignment Honest() {
  v1::Assignment assignment;
  assignment.set_run_id("7f3k2q9a0c");
  assignment.set_epoch(3);
  assignment.set_rank(1);
  assignment.set_world_size(2);
  assignment.set_run_directory("/storage/runs/7f3k2q9a0c");
  assignment.mutable_resume()->set_directory("/storage/runs/7f3k2q9a0c/checkpoints/step-1-e1-a");
  assignment.mutable_membership()->add_addresses("10.0.0.1:4711");
  assignment.mutable_membership()->add_addresses("[::1]:4712");
  return assignment;
}

std::string Refusal(const v1::Assignment& assignment) {
  return AssignmentRefusal(assignment, "/storage/");
}

TEST(AssignmentCheck, AnHonestAssignmentIsTaken) {
  EXPECT_EQ(Refusal(Honest()), "");
  EXPECT_EQ(MembershipRefusal(Honest()), "");
}

TEST(AssignmentCheck, APathOutsideTheStorageRootIsRefused) {
  for (const char* path : {"/etc", "/storage", "/storage/", "/storagex/runs/a", "/storage/../etc",
                           "/storage/runs/../..", "/storage/runs/./a", "/storage//runs",
                           "/storage/runs/", "runs/a", "", "/"}) {
    v1::Assignment assignment = Honest();
    assignment.set_run_directory(path);
    EXPECT_THAT(Refusal(assignment), HasSubstr("is not below this node's storage root")) << path;
    assignment = Honest();
    assignment.mutable_resume()->set_directory(path);
    EXPECT_THAT(Refusal(assignment), HasSubstr("the checkpoint")) << path;
  }
  v1::Assignment assignment = Honest();
  assignment.set_run_directory(std::string("/storage/a\0b", 12));
  EXPECT_NE(Refusal(assignment), "");
}

TEST(AssignmentCheck, AnIdThatIsNoNameIsRefused) {
  for (const std::string& id :
       {std::string(), std::string(".."), std::string("../x"), std::string("a/b"),
        std::string("a b"), std::string("a\033[2J"), std::string(257, 'a')}) {
    v1::Assignment assignment = Honest();
    assignment.set_run_id(id);
    EXPECT_THAT(Refusal(assignment), HasSubstr("is not a valid run id")) << id;
  }
}

TEST(AssignmentCheck, RanksThatCannotBeAreRefused) {
  for (const auto& [rank, size] :
       std::vector<std::pair<int, int>>{{0, 0}, {0, -1}, {2, 2}, {-1, 2}, {0, INT32_MAX}}) {
    v1::Assignment assignment = Honest();
    assignment.set_rank(rank);
    assignment.set_world_size(size);
    EXPECT_THAT(Refusal(assignment), HasSubstr("does not exist")) << rank << " of " << size;
  }
}

TEST(AssignmentCheck, AGroupWithoutAnAddressForEachRankIsRefused) {
  v1::Assignment assignment = Honest();
  assignment.mutable_membership()->mutable_addresses()->RemoveLast();
  EXPECT_EQ(MembershipRefusal(assignment), "its group has 1 addresses for 2 ranks");
  for (const std::string& address : {std::string(), std::string("h:1\n"), std::string(300, 'h')}) {
    assignment = Honest();
    assignment.mutable_membership()->set_addresses(1, address);
    EXPECT_THAT(MembershipRefusal(assignment), HasSubstr("is not a valid address of a rank"));
  }
}

}  // namespace
}  // namespace gp::agent
