#include "coordinator/state/start_description.h"

#include <gtest/gtest.h>

#include <utility>

namespace gp::coordinator {
namespace {

constexpr char kParent[] = "/srv/gp/runs/parent0001/checkpoints/step-00000250-e1-abc";

Run RunOf(const std::string& id, const std::string& name, const std::string& resolved) {
  Submission submission;
  submission.name = name;
  submission.resolved = resolved;
  submission.run_directory = "/srv/gp/runs/" + id;
  Run run;
  run.id = RunId(id);
  run.submission = std::make_shared<const Submission>(submission);
  return run;
}

// A cluster with the run "base", whose checkpoint of step 250 is sealed.
Cluster ClusterWithParent() {
  Run parent = RunOf("parent0001", "base", "name: base\n");
  parent.checkpoints.push_back({{.step = 250, .directory = kParent}, 1});
  Cluster cluster;
  cluster.Set(parent);
  return cluster;
}

std::string Start(const std::string& resolved) {
  return DescribeStart(RunOf("child00001", "child", resolved), ClusterWithParent());
}

TEST(DescribeStart, NamesTheParentOfARunThatBeginsFromAModel) {
  EXPECT_EQ(Start(std::string("name: child\ninit_from: ") + kParent + "\nmodel:\n  n_layer: 1\n"),
            "from the model base@250");
  EXPECT_EQ(Start("init_from: \"/models/my \\\"gpt2\\\"\"\n"),
            "from the model /models/my \"gpt2\"");
  EXPECT_EQ(Start("init_from: /srv/gp/runs/gone000001/checkpoints/step-1\n"),
            "from the model /srv/gp/runs/gone000001/checkpoints/step-1");
  EXPECT_EQ(Start("init_from: /srv/gp/runs/parent0001/checkpoints/step-00000100-e1-abc\n"),
            "from the model /srv/gp/runs/parent0001/checkpoints/step-00000100-e1-abc");
}

TEST(DescribeStart, OnlyARunWithoutAModelBeginsFromScratch) {
  EXPECT_EQ(Start("name: child\ninit_from: scratch\n"), "from scratch");
  EXPECT_EQ(Start("name: child\ndata:\n  init_from: /x\n"), "from scratch");
  EXPECT_EQ(Start(""), "from scratch");
}

TEST(DescribeStart, ItsOwnCheckpointComesBeforeTheModel) {
  coordinator::Run run = RunOf("child00001", "child", "init_from: /models/gpt2\n");
  run.checkpoints.push_back({{.step = 30, .directory = "/d"}, 1});
  EXPECT_EQ(DescribeStart(run, Cluster()), "from step 30");
  EXPECT_EQ(InitialModelName(run, Cluster()), "/models/gpt2");
}

TEST(DescribeStart, SaysThatAllCheckpointsAreGone) {
  coordinator::Run run = RunOf("child00001", "child", "init_from: /models/gpt2\n");
  run.quarantined.push_back(
      {{{.step = 30, .directory = "/d"}, 1}, "its directory is gone", {}, true});
  EXPECT_EQ(DescribeStart(run, Cluster()),
            "from the model /models/gpt2 again (its checkpoints are gone from the storage)");
  run.quarantined.push_back({{{.step = 40, .directory = "/e"}, 1}, "damaged", {}, false});
  EXPECT_EQ(DescribeStart(run, Cluster()),
            "from the model /models/gpt2 again (its checkpoints are damaged or gone)");
}

TEST(DescribeStart, ARunThatKeepsItsParentsPlaceBeginsFromItsCheckpoint) {
  coordinator::Run run = RunOf("child00001", "child", std::string("init_from: ") + kParent + "\n");
  Submission submission = *run.submission;
  submission.keeps_data_position = true;
  run.submission = std::make_shared<const Submission>(submission);
  EXPECT_EQ(DescribeStart(run, ClusterWithParent()), "from the checkpoint base@250");
}

TEST(InitialModelRefusal, SaysWhyACheckpointOfAKnownRunIsNoLongerThere) {
  Cluster cluster = ClusterWithParent();
  EXPECT_EQ(InitialModelRefusal(cluster, kParent), "");
  EXPECT_EQ(InitialModelRefusal(cluster, "/models/gpt2"), "");
  EXPECT_EQ(InitialModelRefusal(cluster, ""), "");
  const std::string unsealed = "/srv/gp/runs/parent0001/checkpoints/step-00000260-e1-abc";
  EXPECT_EQ(InitialModelRefusal(cluster, unsealed),
            unsealed +
                " is not a sealed checkpoint of run base; begin from one: gpctl ckpt list "
                "parent0001");
  EXPECT_EQ(InitialModelRefusal(cluster, "/copy/parent0001/checkpoints/step-00000250-e1-abc"), "");
  coordinator::Run parent = *cluster.FindRun(RunId("parent0001"));
  parent.checkpoints[0].retired = true;
  cluster.Set(parent);
  EXPECT_EQ(InitialModelRefusal(cluster, kParent),
            "the checkpoint of step 250 of run base was removed; begin "
            "from another one: gpctl ckpt list parent0001");
  parent.checkpoints[0].retired = false;
  parent.superseded = std::exchange(parent.checkpoints, {});
  cluster.Set(parent);
  EXPECT_EQ(InitialModelRefusal(cluster, kParent), "");
  parent.quarantined.push_back({parent.superseded[0], "a digest differs"});
  parent.superseded.clear();
  cluster.Set(parent);
  EXPECT_EQ(InitialModelRefusal(cluster, kParent),
            "the checkpoint of step 250 of run base is in quarantine: a digest differs; gpctl ckpt "
            "verify parent0001@250 brings it back if it is intact");
}

TEST(InitialModelRefusal, NothingInTheDirectoryOfADeletedRunIsAModelExceptItsKeptCheckpoints) {
  const std::string other = "/srv/gp/runs/parent0001/checkpoints/step-00000100-e1-abc";
  Cluster cluster = ClusterWithParent();
  cluster.Delete(*cluster.FindRun(RunId("parent0001")), {.id = RunId("parent0001"),
                                                         .name = "base",
                                                         .run_directory = "/srv/gp/runs/parent0001",
                                                         .deleted_by = "user alice"});
  EXPECT_EQ(InitialModelRefusal(cluster, kParent),
            std::string("run 'base' (parent0001), to which ") + kParent +
                " belonged, was deleted by user alice; begin from another model");
  for (const char* path :
       {"/srv/gp/runs/parent0001", "/srv/gp/runs/parent0001/",
        "/srv/gp/runs/parent0001/model.safetensors", "/srv/gp/runs/parent0001/checkpoints/best/"}) {
    EXPECT_NE(InitialModelRefusal(cluster, path), "") << path;
  }
  EXPECT_EQ(InitialModelRefusal(cluster, "/copy/parent0001/checkpoints/step-1"), "");
  EXPECT_EQ(InitialModelRefusal(cluster, "/srv/gp/runs/parent00011/checkpoints/step-1"), "");

  cluster = ClusterWithParent();
  cluster.Delete(*cluster.FindRun(RunId("parent0001")),
                 {.id = RunId("parent0001"),
                  .name = "base",
                  .run_directory = "/srv/gp/runs/parent0001",
                  .deleted_by = "user alice",
                  .kept_checkpoints = {kParent},
                  .kept_run = cluster.FindRun(RunId("parent0001"))});
  EXPECT_EQ(InitialModelRefusal(cluster, kParent), "");
  EXPECT_EQ(InitialModelRefusal(cluster, std::string(kParent) + "/model.safetensors"), "");
  EXPECT_EQ(InitialModelRefusal(cluster, other),
            "run 'base' (parent0001), to which " + other +
                " belonged, was deleted by user alice, who kept 1 of its checkpoints, not this "
                "one; begin from another model");
}

}  // namespace
}  // namespace gp::coordinator
