#include "worker/agent/run_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRun[] = "/srv/gp/runs/7f3k2q9a0c";

v1::Assignment Assign(bool of_owner, const std::string& init_from = "scratch") {
  v1::Assignment assignment;
  assignment.set_run_id("7f3k2q9a0c");
  assignment.set_run_directory(kRun);
  assignment.set_of_owner(of_owner);
  assignment.set_resolved(
      "apiVersion: gp/v1\ndata: {text: [/data/text.txt]}\nbudget: {steps: 1}\ninit_from: " +
      init_from + "\n");
  return assignment;
}

std::vector<std::string> Arguments(const v1::Assignment& assignment, FilePolicy policy) {
  policy.storage_root = "/srv/gp/";
  const auto arguments = FileArguments(assignment, policy);
  EXPECT_TRUE(arguments.ok()) << arguments.status();
  return arguments.value_or(std::vector<std::string>());
}

TEST(FileArguments, WithoutDataRootsARunMayNameNoFiles) {
  EXPECT_THAT(Arguments(Assign(false), {}),
              ElementsAre("--storage-root", "/srv/gp/", "--run-directory", kRun));
  EXPECT_THAT(Arguments(Assign(false), {.owners_coordinator = true}), Not(Contains("--data-root")));
}

TEST(FileArguments, TheOwnerMayNameEveryFileWhereTheAgentSharesTheSocket) {
  EXPECT_THAT(
      Arguments(Assign(true), {.owners_coordinator = true}),
      ElementsAre("--storage-root", "/srv/gp/", "--run-directory", kRun, "--data-root", "/"));
  EXPECT_THAT(Arguments(Assign(true), {}), Not(Contains("--data-root")))
      << "the owner of a coordinator elsewhere is not this node's";
}

TEST(FileArguments, DataRootsHoldForEveryone) {
  const FilePolicy policy{.data_roots = {"/data", "/mnt"}, .owners_coordinator = true};
  for (const bool of_owner : {false, true}) {
    EXPECT_THAT(Arguments(Assign(of_owner), policy),
                ElementsAre("--storage-root", "/srv/gp/", "--run-directory", kRun, "--data-root",
                            "/data", "--data-root", "/mnt"));
  }
}

TEST(FileArguments, OfOtherRunsOnlyACheckpointMayBeRead) {
  const std::string checkpoint = "/srv/gp/runs/0000000001/checkpoints/step-00000010-e1-abc";
  EXPECT_THAT(Arguments(Assign(false, checkpoint), {}), Contains(checkpoint));
  for (const std::string& path :
       {std::string("/srv/gp/runs/0000000001"), std::string("/srv/gp/runs/0000000001/checkpoints"),
        checkpoint + "/model.safetensors", checkpoint + "/../../metrics.jsonl",
        std::string("/etc/checkpoints/x"), std::string("/srv/gp/runs/checkpoints/x")}) {
    EXPECT_THAT(Arguments(Assign(false, path), {}), Not(Contains("--from-checkpoint"))) << path;
  }
}

TEST(FileArguments, TheDirectoryMustBeTheRunsOwn) {
  for (const char* directory : {"/etc", "/srv/gp/runs", "/srv/gp/runs/0000000001",
                                "/srv/gp/runs/7f3k2q9a0c/../0000000001", "", "runs/7f3k2q9a0c"}) {
    v1::Assignment assignment = Assign(true);
    assignment.set_run_directory(directory);
    const auto arguments = FileArguments(assignment, {.storage_root = "/srv/gp"});
    EXPECT_EQ(arguments.status().code(), StatusCode::kInvalidArgument) << directory;
    EXPECT_THAT(Message(arguments.status()), HasSubstr("beneath /srv/gp/runs")) << directory;
  }
  v1::Assignment climbing = Assign(true);
  climbing.set_run_id("../../etc");
  climbing.set_run_directory("/srv/gp/runs/../../etc");
  EXPECT_FALSE(FileArguments(climbing, {.storage_root = "/srv/gp"}).ok());
}

}  // namespace
}  // namespace gp::agent
