#include "coordinator/service/named_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

constexpr char kRoot[] = "/srv/gp";
constexpr char kCheckpoint[] = "/srv/gp/runs/r1/checkpoints/step-00000010-e1-abc";

Submission SubmissionOf(const std::string& space, bool of_owner = false) {
  Submission submission;
  submission.run_namespace = space;
  submission.of_owner = of_owner;
  return submission;
}

Cluster ClusterWithACheckpoint(bool retired = false) {
  RunValue run;
  run.id = RunId("r1");
  run.submission = std::make_shared<const Submission>(SubmissionOf("research"));
  SealedCheckpoint checkpoint;
  checkpoint.directory = kCheckpoint;
  checkpoint.retired = retired;
  run.checkpoints = {checkpoint};
  Cluster cluster;
  cluster.runs.Set(run.id, std::make_shared<const RunValue>(run));
  return cluster;
}

std::string Refusal(const std::string& path, const Submission& submission,
                    const Cluster& cluster = ClusterWithACheckpoint()) {
  const Status status = CheckNamedFiles({{"init_from", path}}, submission, cluster, kRoot);
  if (status.ok()) return "";
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("init_from: "));
  EXPECT_THAT(Message(status), HasSubstr(path));
  return Message(status);
}

TEST(CheckNamedFiles, NobodyNamesFilesByARelativePath) {
  for (const bool of_owner : {false, true}) {
    EXPECT_THAT(Refusal("text.txt", SubmissionOf("research", of_owner)),
                HasSubstr("is a relative path"));
    EXPECT_THAT(Refusal("../secret", SubmissionOf("research", of_owner)),
                HasSubstr("is a relative path"));
  }
}

TEST(CheckNamedFiles, FilesElsewhereAreForTheNodesToDecide) {
  EXPECT_EQ(Refusal("/data/text.txt", SubmissionOf("research")), "");
  EXPECT_EQ(Refusal("/srv/gp/runsmore/x", SubmissionOf("research")), "");
}

TEST(CheckNamedFiles, ACheckpointOfTheCatalogueIsForItsNamespaceAlone) {
  EXPECT_EQ(Refusal(kCheckpoint, SubmissionOf("research")), "");
  EXPECT_EQ(Refusal(std::string(kCheckpoint) + "/tokenizer.json", SubmissionOf("research")), "");
  EXPECT_THAT(Refusal(kCheckpoint, SubmissionOf("default")),
              HasSubstr("is not a checkpoint in the catalogue of namespace 'default'"));
  EXPECT_THAT(Refusal(kCheckpoint, SubmissionOf("research"), ClusterWithACheckpoint(true)),
              HasSubstr("not a checkpoint in the catalogue"));
}

TEST(CheckNamedFiles, ACheckpointThatAnotherLegLeftBehindIsStillOne) {
  Cluster cluster = ClusterWithACheckpoint();
  RunValue run = *cluster.FindRun(RunId("r1"));
  run.superseded = std::exchange(run.checkpoints, {});
  cluster.runs.Set(run.id, std::make_shared<const RunValue>(run));
  EXPECT_EQ(Refusal(kCheckpoint, SubmissionOf("research"), cluster), "");
}

TEST(CheckNamedFiles, OtherFilesOfRunsAreRefused) {
  for (const std::string& path :
       {std::string("/srv/gp/runs"), std::string("/srv/gp/runs/r1"),
        std::string("/srv/gp/runs/r1/samples.jsonl"), std::string("/srv/gp/runs/r2/x"),
        std::string(kCheckpoint) + "-more", std::string(kCheckpoint) + "/../../samples.jsonl",
        std::string("/srv/gp/data/../runs/r1/run.yaml"),
        std::string("/srv/gp//runs/r1/run.yaml")}) {
    EXPECT_THAT(Refusal(path, SubmissionOf("research")), HasSubstr("belongs to a run")) << path;
    EXPECT_EQ(Refusal(path, SubmissionOf("research", true)), "") << "the owner may read it anyway";
  }
}

TEST(CheckUnknownRuns, APathWhereNothingIsInADirectoryOfNoKnownRunIsRefused) {
  const TemporaryDirectory root;
  const auto refusal = [&](const std::string& path) {
    const Status status = CheckUnknownRuns({{"init_from", root.path() + path}},
                                           ClusterWithACheckpoint(), root.path());
    return status.ok() ? "" : Message(status);
  };
  EXPECT_THAT(refusal("/runs/r2/checkpoints/step-1"),
              AllOf(HasSubstr("does not exist in the service's own storage"),
                    HasSubstr("knows no run 'r2'")));
  EXPECT_EQ(refusal("/runs/r1/checkpoints/step-1"), "") << "the catalogue knows the run";
  EXPECT_EQ(refusal("/runs"), "");
  EXPECT_EQ(refusal("/models/gpt2"), "");
  std::filesystem::create_directories(root.path() + "/runs/r2/checkpoints/step-1");
  EXPECT_EQ(refusal("/runs/r2/checkpoints/step-1"), "") << "of an older service on this storage";
}

Cluster ClusterWithNode(std::optional<std::vector<std::string>> data_roots) {
  Node node;
  node.id = NodeId("n");
  node.name = "node-1";
  node.connected = true;
  node.data_roots = std::move(data_roots);
  Cluster cluster;
  cluster.nodes[node.id] = std::make_shared<const Node>(node);
  return cluster;
}

TEST(DataRootsWarning, NamesTheFileThatNoNodeLetsTheRunRead) {
  const auto warning = [](const Cluster& cluster, const std::string& path, bool of_owner = false) {
    return DataRootsWarning({{"data.text", path}}, SubmissionOf("research", of_owner), cluster,
                            kRoot);
  };
  EXPECT_THAT(warning(ClusterWithNode({{}}), "/data/a.txt"),
              AllOf(HasSubstr("data.text: /data/a.txt is not below any data root of node node-1 "
                              "(none)"),
                    HasSubstr("gpctl up --data-root DIR")));
  EXPECT_EQ(warning(ClusterWithNode({{}}), "/data/a.txt", true), "");
  const Cluster data = ClusterWithNode({{"/data/"}});
  EXPECT_EQ(warning(data, "/data/a.txt"), "");
  EXPECT_EQ(warning(data, "/data/*.txt"), "");
  EXPECT_THAT(warning(data, "/database/a.txt"), HasSubstr("node-1 (/data/)"));
  EXPECT_THAT(warning(data, "/data/../etc/passwd"), HasSubstr("node-1 (/data/)"));
  EXPECT_THAT(warning(data, "/etc/passwd", true), HasSubstr("node-1 (/data/)"));
  EXPECT_EQ(warning(data, kCheckpoint), "") << "not a matter of data roots";
  EXPECT_THAT(warning(data, std::string(kRoot) + "/runs", true), HasSubstr("node-1 (/data/)"));
  EXPECT_EQ(warning(ClusterWithNode({{"/"}}), "/etc/passwd"), "");
  EXPECT_EQ(warning(ClusterWithNode(std::nullopt), "/data/a.txt"), "") << "an older agent";
  EXPECT_EQ(warning({}, "/data/a.txt"), "") << "a node may come";
}

TEST(SeesFiles, EveryNameAndAMatchOfEachPatternCanBeRead) {
  const TemporaryDirectory directory;
  const auto at = [&](const std::string& name) { return JoinPath(directory.path(), name); };
  for (const char* name : {"a.bin", "b.bin"}) ASSERT_TRUE(WriteFileAtomically(at(name), "x").ok());
  EXPECT_TRUE(SeesFiles({}));
  EXPECT_TRUE(SeesFiles({{"data.train", at("a.bin")}, {"data.val", at("*.bin")}}));
  EXPECT_TRUE(SeesFiles({{"data.stream", directory.path()}}));
  EXPECT_FALSE(SeesFiles({{"data.train", at("a.bin")}, {"data.val", at("c.bin")}}));
  EXPECT_FALSE(SeesFiles({{"data.train", at("*.npy")}}));
  EXPECT_FALSE(SeesFiles({{"data.train", at("a.bin/x")}}));
}

}  // namespace
}  // namespace gp::coordinator
