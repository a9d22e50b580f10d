// Runs that name files that they may not read. Each fails at once with a message and without a
// retry, and no log, record or reason contains any of the file's content.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/random_id.h"
#include "confinement/file_rules.h"
#include "faults/fault_run.h"
#include "lib/rpc/connected_channel.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSecret[] = "the-passphrase-of-somebody-else";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

class ReadAnyFile : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(MakeDirectories(At("data")).ok());
    WriteText(cluster_);
    std::filesystem::rename(At("text.txt"), At("data/text.txt"));
    Write("secret.txt", SecretText());
    cluster_.StartCoordinator();
  }

  static std::string SecretText() {
    std::string text;
    for (int line = 0; line < 400; ++line) text += fmt::format("{} {}\n", kSecret, line);
    return text;
  }

  std::string At(const std::string& name) const { return JoinPath(cluster_.directory(), name); }
  void Write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(MakeDirectories(DirectoryOf(At(name))).ok());
    ASSERT_TRUE(WriteFileAtomically(At(name), text).ok());
  }
  void Link(const std::string& target, const std::string& name) const {
    ASSERT_TRUE(MakeDirectories(DirectoryOf(At(name))).ok());
    ASSERT_EQ(symlink(target.c_str(), At(name).c_str()), 0);
  }

  void StartWorker(const std::string& name = "node-a", const std::string& root = "data") {
    cluster_.StartWorker(name,
                         {.slots = 1, .config = fmt::format("data: {{roots: [{}]}}\n", At(root))});
  }

  // A run that repeats its data often, so that leaked content would be noticed.
  static std::string RunWith(const std::string& data, const std::string& more = "") {
    return Replaced(FaultRun(1, 20), "{text: [text.txt], tokenizer: bytes}", data) +
           "sample: {every: 5, max_tokens: 60}\n" + more;
  }
  std::string RunOfText(const std::string& path) const {
    return RunWith(fmt::format("{{text: ['{}'], tokenizer: bytes}}", path));
  }

  v1::Run End(const std::string& run_file) {
    const v1::Run end = cluster_.WaitForEnd(cluster_.Submit(run_file));
    ExpectNothingTold(end);
    return end;
  }

  // Expects that neither the run's files nor the daemons' output contain a byte of the secret.
  void ExpectNothingTold(const v1::Run& run) {
    EXPECT_THAT(run.reason(), Not(HasSubstr(kSecret)));
    for (const v1::LogLine& line : cluster_.Lines(run.run_id())) {
      EXPECT_THAT(line.text(), Not(HasSubstr(kSecret)));
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(cluster_.directory())) {
      if (!entry.is_regular_file() || entry.is_symlink()) continue;
      if (entry.path().filename() == "secret.txt") continue;
      const std::string content = ReadFile(entry.path()).value_or("");
      EXPECT_EQ(content.find(kSecret), std::string::npos) << entry.path();
    }
  }

  void ExpectRefused(const std::string& run_file, const std::string& words) {
    const v1::Run end = End(run_file);
    EXPECT_EQ(end.state(), v1::RUN_STATE_FAILED) << words;
    EXPECT_EQ(end.epoch(), 1u) << "it was tried again: " << end.reason();
    EXPECT_THAT(end.reason(), HasSubstr(words));
  }

  Cluster cluster_;
};

TEST_F(ReadAnyFile, WhatLiesBeneathADataRootIsTrainedOn) {
  StartWorker();
  Link("text.txt", "data/link.txt");
  const v1::Run end = End(RunOfText(At("data/link.txt")));
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
}

TEST_F(ReadAnyFile, PathsThatLeadElsewhereAreRefused) {
  StartWorker();
  const std::string outside = "is not below any data root of this node (" + At("data") + ")";
  for (const std::string& path :
       {std::string("/etc/passwd"), At("secret.txt"), At("data/../secret.txt"),
        std::string("/proc/self/environ"), std::string("/proc/1/environ"),
        cluster_.storage_root() + "/runs"}) {
    ExpectRefused(RunOfText(path), outside);
  }
  ExpectRefused(RunOfText(At("*/../../../etc/passwd")), "is not below any data root");
  ExpectRefused(RunWith(fmt::format("{{stream: ['{}'], tokenizer: bytes}}", cluster_.directory())),
                outside);
}

TEST_F(ReadAnyFile, ANodeThatRefusesTheDataIsPassedOverForOneThatLetsTheRunReadIt) {
  ASSERT_TRUE(MakeDirectories(At("other")).ok());
  StartWorker("node-a", "other");
  StartWorker("node-b", "data");
  const v1::Run end = End(RunOfText(At("data/text.txt")));
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_EQ(end.epoch(), 2u) << "node-a comes first";
}

TEST_F(ReadAnyFile, LinksThatLeadOutAreRefused) {
  StartWorker();
  Link(At("secret.txt"), "data/out.txt");
  Link("..", "data/up");
  Link("/proc/self/environ", "data/environment.txt");
  const std::string words =
      "is reached through a symbolic link that points outside this node's data roots";
  ExpectRefused(RunOfText(At("data/out.txt")), words);
  ExpectRefused(RunOfText(At("data/up/secret.txt")), words);
  ExpectRefused(RunOfText(At("data/environment.txt")), words);
  ExpectRefused(RunOfText(At("data/*.txt")), words);
  ExpectRefused(RunWith(fmt::format("{{stream: ['{}'], tokenizer: bytes}}", At("data"))), words);
}

TEST_F(ReadAnyFile, TokenizersQuestionsAndModelsAreFilesTheSame) {
  StartWorker();
  const std::string text = At("data/text.txt");
  ExpectRefused(RunWith(fmt::format("{{text: ['{}'], tokenizer: '{}'}}", text, At("secret.txt"))),
                "data.tokenizer: " + At("secret.txt") + " is not below any data root");
  ExpectRefused(RunOfText(text) + fmt::format("eval: {{tasks: ['{}']}}\n", At("secret.txt")),
                "eval.tasks: " + At("secret.txt") + " is not below any data root");
  ExpectRefused(RunOfText(text) + fmt::format("init_from: {}\n", At("model")),
                "init_from: " + At("model") + " is not below any data root");
  Link(At("secret.txt"), "data/model/model.safetensors");
  ExpectRefused(
      RunOfText(text) + fmt::format("init_from: {}\n", At("data/model")),
      "init_from: " + At("data/model/model.safetensors") + " is reached through a symbolic link");
}

TEST_F(ReadAnyFile, FilesThatNameOtherFilesNameNoneElsewhere) {
  StartWorker();
  Write(
      "data/shards/dataset.json",
      R"({"version": 1, "format": "nanogpt", "token_bytes": 2, "documents": 1, "empty_documents": 0,
            "text_bytes": 1, "created_by": "gp", "tokenizer": {"kind": "bytes", "sha256": "",
            "vocabulary": 256}, "end_of_text": {"placement": "none"}, "sources": [],
            "shards": [{"name": "/etc/passwd", "split": "train", "tokens": 1, "xxh3_128": ""}]})");
  Write("data/shards/train.bin", std::string(4096, '\0'));
  ExpectRefused(
      RunWith(fmt::format("{{train: ['{}'], tokenizer: bytes}}", At("data/shards/train.bin"))),
      "'name' is not a plain file name");
  Write("data/hugging/config.json",
        R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 32, "n_positions": 16,
            "vocab_size": 256, "activation_function": "gelu_new"})");
  Write("data/hugging/model.safetensors.index.json",
        R"({"weight_map": {"wte.weight": "../../secret.txt"}})");
  ExpectRefused(RunOfText(At("data/text.txt")) + fmt::format("init_from: {}\n", At("data/hugging")),
                "expected the name of a file in the same directory");
}

TEST_F(ReadAnyFile, ARunDirectoryWithALinkInItIsNotWritten) {
  const std::string run = cluster_.Submit(RunOfText(At("data/text.txt")));
  const std::string directory = cluster_.Get(run).run_directory();
  ASSERT_TRUE(Eventually([&] { return FileExists(JoinPath(directory, "run.yaml")); }));
  std::filesystem::create_directories(At("elsewhere"));
  std::filesystem::create_directory_symlink(At("elsewhere"), JoinPath(directory, "checkpoints"));
  StartWorker();
  const v1::Run end = cluster_.WaitForEnd(run);
  EXPECT_EQ(end.state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(end.epoch(), 1u) << end.reason();
  EXPECT_THAT(end.reason(), HasSubstr("checkpoints is a symbolic link, or below one"));
  EXPECT_TRUE(std::filesystem::is_empty(At("elsewhere")));
}

// The file names pass every check. Then, while the run repeatedly reads its stream, a file is
// replaced by a link to a file of the same size and time.
TEST_F(ReadAnyFile, ALinkThatIsMadeAfterTheCheckLeadsNowhere) {
  if (confinement::LandlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  StartWorker();
  Write("data/stream/a.txt", std::string(SecretText().size(), 'a'));
  const auto time = std::filesystem::last_write_time(At("data/stream/a.txt"));
  std::filesystem::last_write_time(At("secret.txt"), time);
  const std::string run = cluster_.Submit(
      Replaced(RunWith(fmt::format("{{stream: ['{}'], tokenizer: bytes}}", At("data/stream"))),
               "budget: {steps: 20}", "budget: {steps: 1000000}"));
  cluster_.WaitForStep(run, 1);
  Link(At("secret.txt"), "data/exchanged");
  std::filesystem::rename(At("data/exchanged"), At("data/stream/a.txt"));
  const v1::Run end = cluster_.WaitForEnd(run);
  EXPECT_EQ(end.state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(end.epoch(), 2u) << "the file might have come back; " << end.reason();
  EXPECT_THAT(end.reason(), HasSubstr("is reached through a symbolic link that points outside"));
  ExpectNothingTold(end);
}

// A coordinator that is reachable over TCP, and an agent without data roots on the coordinator's
// Unix socket.
class ReadAnyFileFromAfar : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteText(cluster_);
    cluster_.StartCoordinator();
    cluster_.StartWorker("node-a", {.slots = 1});
    const std::string file =
        ReadFile(JoinPath(cluster_.directory(), "coordinator.json")).value_or("");
    const std::string key = "\"listen\":";
    const size_t at = file.find('"', file.find(key) + key.size()) + 1;
    remote_ =
        v1::RunService::NewStub(rpc::ConnectedChannel(file.substr(at, file.find('"', at) - at)));
  }

  grpc::Status SubmitFromAfar(const std::string& run_file, v1::SubmitResponse& response) {
    v1::SubmitRequest request;
    request.set_request_id(RandomId(16));
    request.set_source(run_file);
    request.set_base_directory(cluster_.directory());
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    return remote_->Submit(&context, request, &response);
  }

  void ExpectRefused(const std::string& run_file, const std::string& words) {
    v1::SubmitResponse response;
    const grpc::Status status = SubmitFromAfar(run_file, response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << words;
    EXPECT_THAT(status.error_message(), HasSubstr(words));
  }

  static std::string RunOfText(const std::string& path) {
    return Replaced(FaultRun(1, 20), "text: [text.txt]", "text: ['" + path + "']");
  }

  Cluster cluster_{
      {.coordinator_config = "server: {listen: '127.0.0.1:0'}\nnetwork: {insecure: true}\n"}};
  std::unique_ptr<v1::RunService::Stub> remote_;
};

TEST_F(ReadAnyFileFromAfar, NeitherRelativePathsNorFilesOfOtherRunsAreTaken) {
  const std::string run = cluster_.Submit(FaultRun(1, 20));
  ASSERT_EQ(cluster_.WaitForEnd(run).state(), v1::RUN_STATE_SUCCEEDED) << "the owner may read it";
  ExpectRefused(FaultRun(1, 20), "data.text: 'text.txt' is a relative path");
  const std::string directory = cluster_.Get(run).run_directory();
  for (const char* name : {"/metrics.jsonl", "/checkpoints", "/../", "/run.yaml"}) {
    ExpectRefused(RunOfText(directory + name), "belongs to a run but is not a checkpoint");
  }
  const std::string checkpoint = cluster_.Checkpoints(run).back().directory();
  ExpectRefused(RunOfText(JoinPath(cluster_.directory(), "text.txt")) + "namespace: other\n" +
                    "init_from: " + checkpoint + "\n",
                "is not a checkpoint in the catalogue of namespace 'other'");
}

TEST_F(ReadAnyFileFromAfar, NoFileIsReadBeforeTheNodesOperatorNamesARoot) {
  v1::SubmitResponse response;
  const grpc::Status status =
      SubmitFromAfar(RunOfText(JoinPath(cluster_.directory(), "text.txt")), response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const v1::Run end = cluster_.WaitForEnd(response.run().run_id());
  EXPECT_EQ(end.state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(end.epoch(), 1u);
  EXPECT_THAT(
      end.reason(),
      HasSubstr("is not below any data root of this node (this run may not read any files)"));
}

}  // namespace
}  // namespace gp::testing
