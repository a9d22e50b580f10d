// gp-trainer as a standalone program, without a control plane.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/exit_code.h"
#include "formats/checkpoint_directory.h"
#include "formats/metrics_line.h"
#include "lib/base/eventually.h"
#include "storage/local_storage.h"
#include "worker/trainer/trainer_process.h"

namespace gp::engine {
namespace {

int Train(const TemporaryDirectory& directory, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"--spec", directory.File("run.yaml"), "--out",
                                        directory.File("out")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return TrainerProcess(arguments, /*managed=*/false).Wait();
}

void WriteRun(const TemporaryDirectory& directory) {
  directory.Write("run.yaml", TinyRunFile(directory.Write("text.txt", TinyText()), 16, 6));
}

std::string Newest(const TemporaryDirectory& directory) {
  const auto newest =
      formats::FindNewestCheckpoint(LocalStorage(), directory.File("out/checkpoints"));
  EXPECT_TRUE(newest.ok() && newest->has_value());
  return newest.ok() && *newest ? **newest : "";
}

std::string Content(const std::string& path) {
  const auto content = ReadFile(path);
  EXPECT_TRUE(content.ok()) << content.status();
  return content.ok() ? *content : "";
}

TEST(StandaloneTraining, GoingOnFromACheckpointGivesTheFilesOfAnUninterruptedRun) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  ASSERT_EQ(Train(directory), 0);
  const std::string last = Newest(directory);
  const std::string expected = Content(JoinPath(last, "model.safetensors"));
  const std::string optimizer = Content(JoinPath(last, "optimizer.safetensors"));
  ASSERT_TRUE(RemoveTree(last).ok());
  ASSERT_EQ(Train(directory), 0);
  EXPECT_TRUE(Content(JoinPath(Newest(directory), "model.safetensors")) == expected);
  EXPECT_TRUE(Content(JoinPath(Newest(directory), "optimizer.safetensors")) == optimizer);
  const std::string metrics = Content(directory.File("out/metrics.jsonl"));
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 16);
}

TEST(StandaloneTraining, MakesTheDirectoriesThatItWritesTo) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  EXPECT_EQ(TrainerProcess({"--spec", directory.File("run.yaml"), "--out", directory.File("a/b/c")},
                           /*managed=*/false)
                .Wait(),
            0);
  EXPECT_TRUE(FileExists(directory.File("a/b/c/checkpoints")));
}

void Damage(const std::string& path) {
  std::string bytes = Content(path);
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
}

void ShortenByHalf(const std::string& path) {
  const std::string bytes = Content(path);
  ASSERT_TRUE(WriteFileAtomically(path, bytes.substr(0, bytes.size() / 2)).ok());
}

TEST(StandaloneTraining, ADamagedCheckpointGoesIntoQuarantineForTheOneBeforeIt) {
  for (const std::string name : {"optimizer.safetensors", "manifest.json"}) {
    const TemporaryDirectory directory;
    WriteRun(directory);
    ASSERT_EQ(Train(directory), 0);
    const std::string last = Newest(directory);
    const std::string expected = Content(JoinPath(last, "model.safetensors"));
    if (name == "manifest.json") {
      ShortenByHalf(JoinPath(last, name));  // no digest protects its bytes
    } else {
      Damage(JoinPath(last, name));
    }
    ASSERT_EQ(Train(directory), 0) << name;
    EXPECT_NE(Newest(directory), last);
    EXPECT_TRUE(Content(JoinPath(Newest(directory), "model.safetensors")) == expected);
    EXPECT_TRUE(FileExists(last)) << "nothing is thrown away";
    EXPECT_THAT(Content(last + ".quarantined"), ::testing::HasSubstr(name));
  }
}

TEST(StandaloneTraining, WithoutAnIntactCheckpointItDoesNotBeginAnewByItself) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  ASSERT_EQ(Train(directory), 0);
  const auto found = formats::FindCheckpoints(LocalStorage(), directory.File("out/checkpoints"));
  ASSERT_TRUE(found.ok());
  for (const auto& checkpoint : *found) {
    Damage(JoinPath(checkpoint.directory, "model.safetensors"));
  }
  EXPECT_EQ(Train(directory), ProcessStatus(ExitCode::kDamaged));
  for (const auto& checkpoint : *found) EXPECT_TRUE(FileExists(checkpoint.directory));
}

// A run that skipped updates has made fewer updates than steps; the optimizer's bias correction
// must use the number of updates.
TEST(StandaloneTraining, GoingOnCountsTheUpdatesThatWereMadeAndNotTheSteps) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  ASSERT_EQ(Train(directory), 0);
  ASSERT_TRUE(RemoveTree(Newest(directory)).ok());
  ASSERT_TRUE(RemoveTree(Newest(directory)).ok());
  auto manifest = formats::ReadManifest(LocalStorage(), Newest(directory));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  ASSERT_EQ(manifest->step, 6);
  EXPECT_EQ(manifest->record.updates, 6);
  manifest->record.updates = 2;
  ASSERT_TRUE(WriteFileAtomically(JoinPath(Newest(directory), "manifest.json"),
                                  formats::FormatManifest(*manifest))
                  .ok());
  ASSERT_EQ(Train(directory), 0);
  const auto last = formats::ReadManifest(LocalStorage(), Newest(directory));
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->step, 16);
  EXPECT_EQ(last->record.updates, 12);
}

// The first run accepts this text only with data.format=text. A resumed run must accept it without
// that setting.
TEST(StandaloneTraining, GoesOnWithTheDataThatItBeganWith) {
  const TemporaryDirectory directory;
  std::string text = TinyText();
  for (size_t at = 10; at < 400; at += 30) text[at] = '\x92';
  directory.Write("run.yaml", TinyRunFile(directory.Write("text.txt", text), 16, 6));
  const std::vector<std::string> bytes = {"--set", "data.tokenizer=bytes"};
  EXPECT_EQ(Train(directory, bytes), ProcessStatus(ExitCode::kUsage));
  std::vector<std::string> as_text = bytes;
  as_text.insert(as_text.end(), {"--set", "data.format=text"});
  ASSERT_EQ(Train(directory, as_text), 0);
  ASSERT_TRUE(RemoveTree(Newest(directory)).ok());
  EXPECT_EQ(Train(directory, bytes), 0);
}

TEST(StandaloneTraining, AnotherOptimizerCannotGoOn) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  ASSERT_EQ(Train(directory), 0);
  EXPECT_EQ(Train(directory, {"--set", "optimizer.kind=muon"}), ProcessStatus(ExitCode::kUsage));
}

TEST(StandaloneTraining, AModelThatCannotFitIsRefusedAtOnceAsAMistakeOfTheRunFile) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  EXPECT_EQ(Train(directory, {"--set", "model.n_layer=96", "--set", "model.n_embd=32768"}), 2);
}

TEST(StandaloneTraining, ADeviceThatThisProgramLacksIsAMistakeOfTheRunFile) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  EXPECT_EQ(Train(directory, {"--set", "resources.device=gpu"}), 2);
}

TEST(StandaloneTraining, ARollbackIsLeftToTheService) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  EXPECT_EQ(Train(directory, {"--set", "stability.on_divergence=rollback"}), 2);
}

TEST(StandaloneTraining, ProblemsOfARunFileBeginInTheFirstLine) {
  const TemporaryDirectory directory;
  const std::string spec = directory.Write("run.yaml", "apiVersion: gp/v1\noptimiser: {lr: 1}\n");
  FILE* words = popen((TrainerPath() + " --spec '" + spec + "' 2>&1").c_str(), "r");
  ASSERT_NE(words, nullptr);
  char line[256] = {};
  EXPECT_NE(fgets(line, sizeof line, words), nullptr);
  EXPECT_EQ(std::string(line).rfind("error: " + spec + ":2:1: ", 0), 0u) << line;
  while (fgets(line, sizeof line, words) != nullptr) EXPECT_STRNE(line, "\n");
  EXPECT_EQ(pclose(words), 2 << 8);
}

TEST(StandaloneTraining, AFinishedRunIsLeftAsItIs) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  ASSERT_EQ(Train(directory), 0);
  const std::string last = Newest(directory);
  ASSERT_EQ(Train(directory), 0);
  EXPECT_EQ(Newest(directory), last);
}

TEST(StandaloneTraining, CheckpointsTellInWhatTheRunComputes) {
  for (const std::string precision : {"fp32", "bf16"}) {
    const TemporaryDirectory directory;
    WriteRun(directory);
    ASSERT_EQ(Train(directory, {"--set", "precision=" + precision}), 0);
    EXPECT_EQ(formats::ReadManifest(LocalStorage(), Newest(directory))->record.precision,
              precision);
  }
}

TEST(StandaloneTraining, KeepsTheNewestCheckpointsAndTheBest) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  ASSERT_EQ(Train(directory, {"--set", "checkpoint.every=2", "--set", "checkpoint.keep_last=1"}),
            0);
  const auto left = ListDirectory(directory.File("out/checkpoints"));
  ASSERT_TRUE(left.ok());
  // Step 16 is the newest checkpoint and also, in such a short run, the best of the evaluated steps
  // 8 and 16.
  EXPECT_EQ(left->size(), 1u);
}

// Starts an endless run without periodic checkpoints, and stops it once it trains.
std::unique_ptr<TrainerProcess> StopOnceItTrains(const TemporaryDirectory& directory,
                                                 const std::string& log = "") {
  auto process = std::make_unique<TrainerProcess>(
      std::vector<std::string>{"--spec", directory.File("run.yaml"), "--out", directory.File("out"),
                               "--set", "budget.steps=1000000", "--set", "checkpoint.every=0"},
      /*managed=*/false, std::vector<std::string>(), log);
  // The first line of the records shows that it trains.
  EXPECT_TRUE(
      Eventually([&] { return FileSize(directory.File("out/metrics.jsonl")).value_or(0) > 0; }));
  process->Signal(SIGTERM);
  return process;
}

// No later step could report this failure.
TEST(StandaloneTraining, ASaveThatFailsAtTheEndIsTold) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  ASSERT_TRUE(MakeDirectories(directory.File("out")).ok());
  directory.Write("out/checkpoints", "a file where the directory should be");
  StopOnceItTrains(directory, directory.File("log"))->Wait();
  const std::string log = Content(directory.File("log"));
  EXPECT_NE(log.find("checkpoint failed"), std::string::npos) << log;
  EXPECT_NE(log.find("is not a directory"), std::string::npos) << log;
}

TEST(StandaloneTraining, AFinalSaveThatFailsIsTriedAgainUntilItSucceeds) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  ASSERT_TRUE(MakeDirectories(directory.File("out")).ok());
  const std::string obstacle = directory.Write("out/checkpoints", "in the way");
  const std::string log = directory.Write("log", "");
  TrainerProcess process({"--spec", directory.File("run.yaml"), "--out", directory.File("out"),
                          "--set", "checkpoint.every=0"},
                         /*managed=*/false, {}, log);
  ASSERT_TRUE(Eventually(
      [&] { return Content(log).find("the state stays in memory") != std::string::npos; }));
  ASSERT_TRUE(RemoveTree(obstacle).ok());
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_EQ(formats::ReadManifest(LocalStorage(), Newest(directory))->step, 16);
}

TEST(StandaloneTraining, ASignalSavesTheStepAndTheNextRunGoesOn) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  EXPECT_EQ(StopOnceItTrains(directory, directory.File("log"))->Wait(), 0);
  EXPECT_NE(Content(directory.File("log")).find("first step after_s="), std::string::npos);
  const auto manifest = formats::ReadManifest(LocalStorage(), Newest(directory));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_GE(manifest->step, 1);
}

TEST(StandaloneTraining, ProblemsOfTheRunFileExitWithTwo) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  EXPECT_EQ(Train(directory, {"--set", "optimizer.lrr=1"}), 2);
  EXPECT_EQ(Train(directory, {"--set", "batch.total_tokens=100"}), 2);
  EXPECT_EQ(Train(directory, {"--no-such-flag"}), 2);
  EXPECT_EQ(TrainerProcess({"--spec", directory.File("absent.yaml")}, false).Wait(), 2);
  EXPECT_EQ(TrainerProcess({}, false).Wait(), 2);
}

TEST(StandaloneTraining, RecordsBitsPerByteAndTheAnswersToItsTasks) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  const std::string quiz = directory.Write("quiz.jsonl", TinyQuestions(10));
  ASSERT_EQ(Train(directory, {"--set", "eval.tasks=[" + quiz + "]", "--set",
                              "eval.task_style=harness", "--set", "eval.task_every=8"}),
            0);
  const std::string metrics = Content(directory.File("out/metrics.jsonl"));
  for (const char* key : {"\"val_bpb\":", "\"quiz/harness/acc\":", "\"quiz/harness/acc_norm\":"}) {
    size_t count = 0;
    for (size_t at = 0; (at = metrics.find(key, at)) != std::string::npos; ++at) ++count;
    EXPECT_EQ(count, 2u) << key;
  }
}

TEST(StandaloneTraining, QuestionsThatCannotBeAskedAreAMistakeOfTheRunFile) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  const auto train = [&](const std::string& questions) {
    return Train(directory,
                 {"--set", "eval.tasks=[" + directory.Write("q.jsonl", questions) + "]"});
  };
  EXPECT_EQ(train("{}\n"), 2);
  EXPECT_EQ(train(R"({"question": "line 1 of 7 says", "choices": ["1", "2"], "label": 0})"), 2)
      << "longer than batch.sequence";
  EXPECT_EQ(train(R"({"question": "#", "choices": ["1", "2"], "label": 0})"), 2)
      << "no character of the data";
  EXPECT_EQ(Train(directory, {"--set", "eval.tasks=[absent.jsonl]"}), 2);
}

TEST(StandaloneTraining, AnEarlyStopKeepsTheBestCheckpointAndIsFinal) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  // After the first evaluation, no gain is large enough.
  const std::vector<std::string> stopping = {
      "--set", "eval.every=2",       "--set", "eval.patience=2",
      "--set", "eval.min_delta=100", "--set", "checkpoint.keep_last=1",
      "--set", "checkpoint.every=0", "--set", "budget.steps=1000"};
  ASSERT_EQ(Train(directory, stopping), 0);
  const auto last = formats::ReadManifest(LocalStorage(), Newest(directory));
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->step, 6);
  EXPECT_EQ(last->record.best_step, 2);
  EXPECT_EQ(last->record.evaluations_without_gain, 2);
  const std::string expected = Content(JoinPath(Newest(directory), "model.safetensors"));
  // A stopped run is finished; a run that resumes from before the stop stops at the same step.
  ASSERT_EQ(Train(directory, stopping), 0);
  EXPECT_EQ(formats::ReadManifest(LocalStorage(), Newest(directory))->step, 6);
  ASSERT_TRUE(RemoveTree(directory.File("out")).ok());
  std::vector<std::string> first = stopping;
  first.back() = "budget.steps=4";
  ASSERT_EQ(Train(directory, first), 0);
  EXPECT_EQ(formats::ReadManifest(LocalStorage(), Newest(directory))->step, 4);
  ASSERT_EQ(Train(directory, stopping), 0);
  EXPECT_EQ(formats::ReadManifest(LocalStorage(), Newest(directory))->step, 6);
  EXPECT_TRUE(Content(JoinPath(Newest(directory), "model.safetensors")) == expected);
}

// After the first evaluation no gain is large enough, so only that step is saved besides the last.
TEST(StandaloneTraining, AnImprovementIsSavedOnRequestAndOnlyThen) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  std::vector<std::string> saving = {
      "--set", "eval.every=2",       "--set", "checkpoint.on_best=true",
      "--set", "eval.min_delta=100", "--set", "checkpoint.keep_last=10",
      "--set", "checkpoint.every=0", "--set", "budget.steps=8"};
  const auto saved = [&directory] {
    return ListDirectory(directory.File("out/checkpoints")).value().size();
  };
  ASSERT_EQ(Train(directory, saving), 0);
  EXPECT_EQ(formats::ReadManifest(LocalStorage(), Newest(directory))->record.best_step, 2);
  EXPECT_EQ(saved(), 2u) << "the first evaluation and the end";
  // A run that goes on knows the best one.
  saving.back() = "budget.steps=16";
  ASSERT_EQ(Train(directory, saving), 0);
  EXPECT_EQ(formats::ReadManifest(LocalStorage(), Newest(directory))->record.best_step, 2);
  EXPECT_EQ(saved(), 3u) << "the new end";
}

TEST(StandaloneTraining, ARampGoesOnInItsMiddleAsIfItHadNotStopped) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  const std::vector<std::string> ramp = {"--set", "batch.ramp_from_tokens=128",
                                         "--set", "batch.ramp_steps=10",
                                         "--set", "data.order=sequential"};
  ASSERT_EQ(Train(directory, ramp), 0);
  const auto whole = formats::ReadManifest(LocalStorage(), Newest(directory));
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->step, 16);
  EXPECT_EQ(whole->tokens, 10 * 128 + 6 * 256);
  const std::string expected = Content(JoinPath(Newest(directory), "model.safetensors"));
  for (const int64_t step : {16, 12}) {
    ASSERT_TRUE(RemoveTree(Newest(directory)).ok()) << step;
  }
  ASSERT_EQ(formats::ReadManifest(LocalStorage(), Newest(directory))->step, 6);
  ASSERT_EQ(Train(directory, ramp), 0);
  EXPECT_TRUE(Content(JoinPath(Newest(directory), "model.safetensors")) == expected);
}

// Kills the training each time it has written another checkpoint, `kills` times, then lets it
// finish.
void TrainWithKills(const TemporaryDirectory& directory, int kills) {
  const auto checkpoints = [&] {
    const auto found = formats::FindCheckpoints(LocalStorage(), directory.File("out/checkpoints"));
    return found.ok() && !found->empty() && found->front().manifest.ok()
               ? found->front().manifest->step
               : 0;
  };
  for (int kill = 0; kill < kills; ++kill) {
    const int64_t before = checkpoints();
    TrainerProcess process({"--spec", directory.File("run.yaml"), "--out", directory.File("out")},
                           /*managed=*/false);
    EXPECT_TRUE(Eventually([&] { return checkpoints() != before; }));
    process.Signal(SIGKILL);
    EXPECT_EQ(process.Wait(), 128 + SIGKILL) << "it was over before kill " << kill;
  }
  EXPECT_EQ(Train(directory), 0);
}

// The record of each step without the fields that depend on time.
std::vector<std::string> Losses(const TemporaryDirectory& directory) {
  const std::string metrics = Content(directory.File("out/metrics.jsonl"));
  std::vector<std::string> losses;
  for (size_t begin = 0; begin < metrics.size();) {
    const size_t end = metrics.find('\n', begin);
    const std::string line = metrics.substr(begin, end - begin);
    const auto field = [&](const std::string& name) {
      const size_t at = line.find("\"" + name + "\":");
      return at == std::string::npos ? "" : line.substr(at, line.find(',', at) - at);
    };
    losses.push_back(field("step") + field("loss") + field("grad_norm") + field("val_loss"));
    begin = end + 1;
  }
  return losses;
}

// Trains twice, once with kills, and compares all results.
void ExpectKillsChangeNothing(const std::string& run_file) {
  const TemporaryDirectory undisturbed, killed;
  undisturbed.Write("run.yaml", run_file);
  killed.Write("run.yaml", run_file);
  ASSERT_EQ(Train(undisturbed), 0);
  TrainWithKills(killed, 3);
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    EXPECT_TRUE(Content(JoinPath(Newest(killed), file)) ==
                Content(JoinPath(Newest(undisturbed), file)))
        << file;
  }
  EXPECT_EQ(Losses(killed), Losses(undisturbed));
}

TEST(StandaloneTraining, AStreamThatIsKilledGoesOnWithTheBatchesOfAnUndisturbedRun) {
  const TemporaryDirectory texts;
  for (int file = 0; file < 4; ++file) {
    std::string text;
    for (int i = 0; i < 4; ++i) text += std::to_string(file) + TinyText();
    texts.Write("text" + std::to_string(file) + ".txt", text);
  }
  texts.Write("lines.jsonl", "{\"text\": \"a line\"}\n{\"text\": \"and another\"}\n");
  const TemporaryDirectory validation;
  std::string run_file = TinyRunFile("", 600, 50);
  run_file = Replaced(run_file, "text: [\"\"], tokenizer: chars",
                      fmt::format("stream: [\"{}\"], val: [\"{}\"], tokenizer: bytes",
                                  texts.File(""), validation.Write("val.txt", TinyText())));
  run_file = Replaced(run_file, "sample: {every: 10", "sample: {every: 0");
  ExpectKillsChangeNothing(Replaced(run_file, "eval: {every: 8", "eval: {every: 50"));
}

TEST(StandaloneTraining, AMixtureThatIsKilledGoesOnWithTheBatchesOfAnUndisturbedRun) {
  const TemporaryDirectory data;
  const std::string run_file = Replaced(
      TinyRunFile("", 600, 50), "text: [\"\"], tokenizer: chars",
      fmt::format("train: [\"{}\", \"{}\"], format: uint16, weights: [1, 4], val: [\"{}\"], "
                  "order: shuffled",
                  data.Write("a.bin", NanoGptShard(TinyText())),
                  data.Write("b.bin", NanoGptShard("another text " + TinyText())),
                  data.Write("val.bin", NanoGptShard(TinyText().substr(0, 500)))));
  ExpectKillsChangeNothing(Replaced(Replaced(run_file, "sample: {every: 10", "sample: {every: 0"),
                                    "eval: {every: 8", "eval: {every: 50"));
}

TEST(StandaloneTraining, OverfitLearnsOneBatchAndLeavesNothingBehind) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  const auto overfit = [&](const std::string& lr) {
    return TrainerProcess({"--spec", directory.File("run.yaml"), "--out", directory.File("out"),
                           "--overfit", "--set", "optimizer.lr=" + lr},
                          /*managed=*/false)
        .Wait();
  };
  EXPECT_EQ(overfit("1e-2"), 0);
  EXPECT_EQ(overfit("1e-9"), 1) << "a model that does not learn";
  EXPECT_FALSE(FileExists(directory.File("out")));
  EXPECT_EQ(Train(directory, {"--overfit", "--set", "model.n_head=7"}), 2);
}

TEST(StandaloneTraining, AnAutomaticMicroBatchIsChosenOnceAndKept) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  const std::vector<std::string> automatic = {"--set", "batch.micro_batch=auto"};
  ASSERT_EQ(Train(directory, automatic), 0);
  // Each shard has four sequences, and such a small model is not limited by memory.
  EXPECT_NE(Content(directory.File("out/resolved.yaml")).find("micro_batch: 4\n"),
            std::string::npos);
  EXPECT_EQ(Content(directory.File("out/micro_batch.json")), "{\"micro_batch\":4}\n");
  // Another micro-batch would be chosen now, but the run keeps the recorded one.
  directory.Write("out/micro_batch.json", "{\"micro_batch\":2}\n");
  ASSERT_TRUE(RemoveTree(directory.File("out/checkpoints")).ok());
  ASSERT_EQ(Train(directory, automatic), 0);
  EXPECT_EQ(formats::ReadManifest(LocalStorage(), Newest(directory))->record.micro_batch, 2);
  const std::string expected = Content(JoinPath(Newest(directory), "model.safetensors"));
  ASSERT_TRUE(RemoveTree(Newest(directory)).ok());
  ASSERT_TRUE(RemoveTree(directory.File("out/micro_batch.json")).ok());
  ASSERT_EQ(Train(directory, automatic), 0);
  EXPECT_TRUE(Content(JoinPath(Newest(directory), "model.safetensors")) == expected)
      << "the checkpoint to go on from says what it was";
  directory.Write("out/micro_batch.json", "{");
  ASSERT_TRUE(RemoveTree(directory.File("out/checkpoints")).ok());
  EXPECT_EQ(Train(directory, automatic), ProcessStatus(ExitCode::kStorage));
}

TEST(StandaloneTraining, SamplesHaveNoIdThatTheTokenizerLacks) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  // Almost no id of the model is one of the tokenizer's, and all ids are about equally likely.
  ASSERT_EQ(Train(directory, {"--set", "model.vocab=1024", "--set", "sample.temperature=100",
                              "--set", "sample.top_k=0"}),
            0);
  const std::string samples = Content(directory.File("out/samples.jsonl"));
  EXPECT_THAT(samples, ::testing::HasSubstr("\"text\":\""));
  EXPECT_THAT(samples, ::testing::Not(::testing::HasSubstr("\xef\xbf\xbd")));
}

TEST(StandaloneTraining, AWallTimeBecomesStepsOnceAndForAll) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  const std::vector<std::string> timed = {"--set", "budget.steps=0", "--set",
                                          "budget.wall_time=1s"};
  ASSERT_EQ(Train(directory, timed), 0);
  const std::string budget = Content(directory.File("out/budget.json"));
  const auto first = formats::ReadManifest(LocalStorage(), Newest(directory));
  ASSERT_TRUE(first.ok());
  EXPECT_NE(budget.find(fmt::format("\"steps\":{}}}", first->step)), std::string::npos) << budget;
  EXPECT_EQ(first->record.step_budget, first->step);
  ASSERT_TRUE(RemoveTree(directory.File("out/checkpoints")).ok());
  ASSERT_EQ(Train(directory, timed), 0);
  const auto second = formats::ReadManifest(LocalStorage(), Newest(directory));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->step, first->step);
}

// If the time of the earlier steps did not count, it would train for 20 s more.
TEST(StandaloneTraining, ARunThatResumesBeforeItsBudgetIsFixedDoesNotGetTheWholeTimeAgain) {
  const TemporaryDirectory directory;
  WriteRun(directory);
  ASSERT_EQ(Train(directory), 0);
  const auto before = formats::ReadManifest(LocalStorage(), Newest(directory));
  ASSERT_TRUE(before.ok());
  std::istringstream lines(Content(directory.File("out/metrics.jsonl")));
  std::string slower;
  for (std::string line; std::getline(lines, line);) {
    auto point = formats::ParseMetricsLine(line);
    ASSERT_TRUE(point.ok()) << point.status();
    point->step_seconds = 2;  // uses up the time
    slower += formats::FormatMetricsLine(*point) + "\n";
  }
  directory.Write("out/metrics.jsonl", slower);
  ASSERT_EQ(Train(directory, {"--set", "budget.steps=0", "--set", "budget.wall_time=20s"}), 0);
  const auto after = formats::ReadManifest(LocalStorage(), Newest(directory));
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after->step, before->step + 2) << "one step to find out, and the schedule's last one";
}

}  // namespace
}  // namespace gp::engine
