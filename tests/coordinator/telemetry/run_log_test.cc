#include "coordinator/telemetry/run_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "coordinator/private_files.h"
#include "coordinator/store/sample_events.h"
#include "coordinator/telemetry/run_log_codec.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

contract::TrainingPoint MakePoint(Epoch epoch, int64_t step) {
  contract::TrainingPoint point;
  point.epoch = epoch;
  point.step = step;
  point.loss = 1.0 / static_cast<double>(step);
  return point;
}

Line MakeLine(const std::string& source, uint64_t source_sequence, const std::string& text = "x") {
  Line line;
  line.text = text;
  line.source = source;
  line.source_sequence = source_sequence;
  return line;
}

std::vector<int64_t> StepsIn(const std::string& directory) {
  uint64_t offset = 0;
  std::vector<int64_t> steps;
  const auto points = ReadPoints(directory, 1000, offset);
  for (const contract::TrainingPoint& point : *points) steps.push_back(point.step);
  return steps;
}

std::vector<std::string> TextsIn(const std::string& directory) {
  uint64_t offset = 0;
  std::vector<std::string> texts;
  const auto lines = ReadLines(directory, 1000, offset);
  for (const Line& line : *lines) texts.push_back(line.text);
  return texts;
}

class RunLogTest : public ::testing::Test {
 protected:
  RunLog Open() {
    auto log = RunLog::Open(directory_.path(), limits_);
    EXPECT_TRUE(log.ok()) << log.status();
    return std::move(*log);
  }

  TemporaryDirectory directory_;
  RunLogLimits limits_;
};

TEST(RunLog, ItsFilesAreForItsUserAlone) {
  const TemporaryDirectory directory;
  const std::string logs = JoinPath(directory.path(), "runs/abcdefgh01");
  const mode_t before = umask(0);
  const auto log = RunLog::Open(logs, {});
  umask(before);
  ASSERT_TRUE(log.ok()) << log.status();
  ExpectPrivate(JoinPath(directory.path(), "runs"));
}

TEST_F(RunLogTest, KeepsPointsOncePerEpochAndStep) {
  RunLog log = Open();
  ASSERT_TRUE(log.AppendPoints({MakePoint(1, 1), MakePoint(1, 2), MakePoint(1, 3)}).ok());
  ASSERT_TRUE(log.AppendPoints({MakePoint(1, 2), MakePoint(1, 3), MakePoint(1, 4)}).ok());
  // The next epoch repeats step 3; a late point of the previous epoch is dropped.
  ASSERT_TRUE(log.AppendPoints({MakePoint(2, 3), MakePoint(1, 5)}).ok());
  EXPECT_EQ(StepsIn(directory_.path()), (std::vector<int64_t>{1, 2, 3, 4, 3}));
  EXPECT_EQ(log.progress().newest->step, 3);
}

TEST_F(RunLogTest, RemembersWhatItKeptAcrossOpens) {
  ASSERT_TRUE(Open().AppendPoints({MakePoint(1, 1), MakePoint(1, 2)}).ok());
  ASSERT_TRUE(Open().AppendLines({MakeLine("a", 1, "one"), MakeLine("a", 2, "two")}).ok());
  RunLog log = Open();
  EXPECT_EQ(log.progress().newest->step, 2);
  ASSERT_TRUE(log.AppendPoints({MakePoint(1, 2)}).ok());
  ASSERT_TRUE(log.AppendLines({MakeLine("a", 2, "two"), MakeLine("b", 1, "three")}).ok());
  EXPECT_EQ(StepsIn(directory_.path()).size(), 2u);
  EXPECT_EQ(TextsIn(directory_.path()), (std::vector<std::string>{"one", "two", "three"}));
}

TEST_F(RunLogTest, NumbersLinesWithoutGaps) {
  RunLog log = Open();
  ASSERT_TRUE(log.AppendLines({MakeLine("a", 5), MakeLine("a", 9)}).ok());
  ASSERT_TRUE(log.AppendLines({MakeLine("a", 12)}).ok());
  uint64_t offset = 0;
  const auto lines = ReadLines(directory_.path(), 1000, offset);
  for (size_t i = 0; i < lines->size(); ++i) EXPECT_EQ((*lines)[i].sequence, i + 1);
}

TEST_F(RunLogTest, AReaderGoesOnWhereItStopped) {
  RunLog log = Open();
  ASSERT_TRUE(log.AppendPoints({MakePoint(1, 1), MakePoint(1, 2), MakePoint(1, 3)}).ok());
  uint64_t offset = 0;
  EXPECT_EQ(ReadPoints(directory_.path(), 2, offset)->size(), 2u);
  EXPECT_EQ(ReadPoints(directory_.path(), 2, offset)->size(), 1u);
  EXPECT_TRUE(ReadPoints(directory_.path(), 2, offset)->empty());
  ASSERT_TRUE(log.AppendPoints({MakePoint(1, 4)}).ok());
  EXPECT_EQ(ReadPoints(directory_.path(), 2, offset)->front().step, 4);
}

TEST_F(RunLogTest, AFullLogSaysSoOnceAndDropsTheRest) {
  limits_.lines_bytes_max = 100;
  RunLog log = Open();
  ASSERT_TRUE(log.AppendLines({MakeLine("a", 1, std::string(200, 'x'))}).ok());
  ASSERT_TRUE(log.AppendLines({MakeLine("a", 2, "lost"), MakeLine("a", 3, "lost")}).ok());
  ASSERT_TRUE(log.AppendLines({MakeLine("a", 4, "lost")}).ok());
  const auto texts = TextsIn(directory_.path());
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_NE(texts[1].find("the log of this run is full"), std::string::npos);
}

TEST_F(RunLogTest, AFullLogSaysSoOnceHoweverOftenItIsOpened) {
  limits_.lines_bytes_max = 100;
  ASSERT_TRUE(Open().AppendLines({MakeLine("a", 1, std::string(200, 'x'))}).ok());
  ASSERT_TRUE(Open().AppendLines({MakeLine("a", 2, "lost")}).ok());
  ASSERT_TRUE(Open().AppendLines({MakeLine("a", 3, "lost")}).ok());
  EXPECT_LE(TextsIn(directory_.path()).size(), 2u);
}

TEST_F(RunLogTest, FullPointsAreToldOfOnceInTheLinesHoweverOftenTheLogIsOpened) {
  limits_.points_bytes_max = 10;
  ASSERT_TRUE(Open().AppendPoints({MakePoint(1, 1)}).ok());
  EXPECT_TRUE(TextsIn(directory_.path()).empty());
  for (const int64_t step : {2, 3}) ASSERT_TRUE(Open().AppendPoints({MakePoint(1, step)}).ok());
  ASSERT_TRUE(Open().AppendLines({MakeLine("a", 1, "of a rank")}).ok());
  EXPECT_EQ(StepsIn(directory_.path()), std::vector<int64_t>{1});
  const auto texts = TextsIn(directory_.path());
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_NE(texts[0].find("points.log of this run is full"), std::string::npos);
  EXPECT_EQ(texts[1], "of a rank");
}

TEST_F(RunLogTest, CutsALongLineBetweenCharacters) {
  limits_.line_bytes_max = 10;
  ASSERT_TRUE(Open().AppendLines({MakeLine("a", 1, "123456789ä")}).ok());
  EXPECT_EQ(TextsIn(directory_.path()).front(), "123456789");
}

// A crash may leave any prefix of the file. Complete records are kept, and the log can be written
// again.
TEST_F(RunLogTest, ATornTailAtEveryByteLosesOnlyThatTail) {
  ASSERT_TRUE(Open().AppendPoints({MakePoint(1, 1), MakePoint(1, 2), MakePoint(1, 3)}).ok());
  const std::string whole = *ReadFile(PointsPath(directory_.path()));
  size_t last = 0;
  for (size_t size = 0; size <= whole.size(); ++size) {
    std::ofstream(PointsPath(directory_.path()), std::ios::binary) << whole.substr(0, size);
    RunLog log = Open();
    const size_t kept = StepsIn(directory_.path()).size();
    ASSERT_GE(kept, last) << size;
    ASSERT_TRUE(log.AppendPoints({MakePoint(2, 9)}).ok());
    ASSERT_EQ(StepsIn(directory_.path()).size(), kept + 1) << size;
    last = kept;
  }
  EXPECT_EQ(last, 3u);
}

TEST_F(RunLogTest, AFlippedBitEndsTheFileThere) {
  ASSERT_TRUE(Open().AppendPoints({MakePoint(1, 1), MakePoint(1, 2)}).ok());
  std::string bytes = *ReadFile(PointsPath(directory_.path()));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  ASSERT_TRUE(WriteFileAtomically(PointsPath(directory_.path()), bytes).ok());
  EXPECT_EQ(StepsIn(directory_.path()), std::vector<int64_t>{1});
}

Progress SampleProgress() {
  Progress progress;
  progress.newest = MakePoint(3, 40);
  progress.newest->warning = "newest";
  progress.validation_loss = 2.25;
  progress.validation_step = 30;
  progress.best_validation_loss = 1.125;
  progress.best_validation_step = 25;
  progress.warning = "look";
  progress.skipped_steps = 5;
  progress.skipped_spikes = 2;
  progress.newest->scores = {{"val_bpb", 2.5}};
  progress.scores = {{"val_bpb", {2.5, 40}}, {"quiz/harness/acc", {0.25, 30}}};
  progress.epochs = {{1, 1, 30, At(5), At(5)}, {3, 21, 40, At(70), std::nullopt}};
  progress.steps_taken = 50;
  progress.tokens_taken = 5000;
  progress.flops_taken = 1.5e18;
  return progress;
}

TEST(Progress, KeepsTheNewestScoreOfEachName) {
  Progress progress;
  contract::TrainingPoint point = MakePoint(1, 10);
  point.scores = {{"val_bpb", 2.5}, {"quiz/harness/acc", 0.25}};
  progress.Add(point);
  point = MakePoint(1, 20);
  point.scores = {{"val_bpb", 2.25}};
  progress.Add(point);
  const std::map<std::string, Score> expected = {{"val_bpb", {2.25, 20}},
                                                 {"quiz/harness/acc", {0.25, 10}}};
  EXPECT_EQ(progress.scores, expected);
}

TEST(Progress, KnowsTheLowestValidationLoss) {
  Progress progress;
  const auto evaluate = [&](int64_t step, double loss) {
    contract::TrainingPoint point = MakePoint(1, step);
    point.validation_loss = loss;
    progress.Add(point);
  };
  evaluate(10, std::nan(""));
  EXPECT_FALSE(progress.best_validation_loss.has_value());
  evaluate(20, 2.0);
  evaluate(30, 1.5);
  evaluate(40, 1.75);
  evaluate(50, std::nan(""));
  EXPECT_EQ(progress.best_validation_loss, 1.5);
  EXPECT_EQ(progress.best_validation_step, 30);
}

// An older version did not write the lowest loss, and the points are not read again.
TEST(Progress, TheLowestValidationLossOfAnOlderSummaryIsUnknown) {
  Progress older = SampleProgress();
  older.best_known = false;
  older.best_validation_loss.reset();
  const auto found = DecodeSummary(EncodeSummary({1000, 2000, older, 77, {}}));
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->progress.best_known);
  const auto again = DecodeSummary(EncodeSummary(*found));
  EXPECT_FALSE(again->progress.best_known) << "it stays unknown";
}

TEST(Progress, TheLowestValidationLossIsFoundAfterARestartThatFollowsOnlyNaN) {
  Progress progress;
  contract::TrainingPoint point = MakePoint(1, 10);
  point.validation_loss = std::nan("");
  progress.Add(point);
  auto found = DecodeSummary(EncodeSummary({1000, 2000, progress, 77, {}}));
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->progress.best_known);
  EXPECT_FALSE(found->progress.best_validation_loss.has_value());
  point = MakePoint(1, 20);
  point.validation_loss = 2.0;
  found->progress.Add(point);
  EXPECT_EQ(found->progress.best_validation_loss, 2.0);
  EXPECT_EQ(found->progress.best_validation_step, 20);
}

TEST(Progress, HasALimitedNumberOfScores) {
  Progress progress;
  contract::TrainingPoint point = MakePoint(1, 10);
  for (int i = 0; i < 1000; ++i) point.scores[std::to_string(i)] = i;
  progress.Add(point);
  EXPECT_EQ(progress.scores.size(), kScoresMax);
}

TEST(Progress, CountsWhatEveryEpochTookAndKnowsWhenOneCaughtUp) {
  Progress progress;
  const auto take = [&](Epoch epoch, int64_t step, int second) {
    contract::TrainingPoint point = MakePoint(epoch, step);
    point.at_us = At(second).time_since_epoch().count();
    point.tokens_per_second = 200;
    point.step_seconds = 0.5;
    point.mfu = 0.25;
    point.peak_flops = 1e12;
    progress.Add(point);
  };
  for (int i = 1; i <= 3; ++i) take(1, i, i);
  take(2, 2, 10);
  EXPECT_EQ(progress.epochs.back().caught_up_at, std::nullopt);
  take(2, 3, 11);
  take(2, 4, 12);
  EXPECT_EQ(progress.epochs,
            (std::vector<EpochStart>{{1, 1, 3, At(1), At(1)}, {2, 2, 4, At(10), At(11)}}));
  EXPECT_EQ(LastStepBefore(2, progress.epochs), 3);
  EXPECT_EQ(LastStepBefore(3, progress.epochs), 4);
  EXPECT_EQ(progress.steps_taken, 6);
  EXPECT_EQ(progress.tokens_taken, 600);
  EXPECT_EQ(progress.flops_taken, 7.5e11);
}

TEST(RunSummary, ComesBackAsItWas) {
  const RunSummary summary{1000, 2000, SampleProgress(), 77, {{"a", 5}, {"b", 9}}};
  const auto found = DecodeSummary(EncodeSummary(summary));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->points_bytes, 1000u);
  EXPECT_EQ(found->lines_bytes, 2000u);
  EXPECT_EQ(found->last_line, 77u);
  EXPECT_EQ(found->sources, summary.sources);
  const Progress& progress = found->progress;
  EXPECT_EQ(EncodePoint(*progress.newest), EncodePoint(*summary.progress.newest));
  EXPECT_EQ(progress.validation_loss, 2.25);
  EXPECT_EQ(progress.validation_step, 30);
  EXPECT_TRUE(progress.best_known);
  EXPECT_EQ(progress.best_validation_loss, 1.125);
  EXPECT_EQ(progress.best_validation_step, 25);
  EXPECT_EQ(progress.warning, "look");
  EXPECT_EQ(progress.skipped_steps, 5);
  EXPECT_EQ(progress.skipped_spikes, 2);
  EXPECT_EQ(progress.scores, summary.progress.scores);
  EXPECT_EQ(progress.epochs, summary.progress.epochs);
  EXPECT_EQ(progress.steps_taken, 50);
  EXPECT_EQ(progress.tokens_taken, 5000);
  EXPECT_EQ(progress.flops_taken, 1.5e18);
}

// Everything that an open log knows, as text for comparison.
std::string KnownBy(const std::string& directory, RunLog& log) {
  EXPECT_TRUE(log.Sync().ok());
  EXPECT_TRUE(log.SaveSummary().ok());
  std::string known;
  const auto keep = [&](std::string_view bytes) {
    known = DecodeSummary(bytes) ? std::string(bytes) : "";
    return true;
  };
  EXPECT_TRUE(ReadRecords(JoinPath(directory, "summary"), 0, keep).ok());
  return known;
}

class SummaryTest : public RunLogTest {
 protected:
  void Fill(RunLog& log, Epoch epoch) {
    for (int64_t step = 10; step <= 14; ++step) {
      contract::TrainingPoint point = MakePoint(epoch, step);
      point.skipped = step == 11;
      if (step == 12) point.validation_loss = 2.0 + static_cast<double>(epoch);
      if (step == 13) point.warning = "of epoch " + std::to_string(epoch);
      ASSERT_TRUE(log.AppendPoints({point}).ok());
      ASSERT_TRUE(log.AppendLines({MakeLine("a", epoch * 100 + static_cast<uint64_t>(step))}).ok());
    }
  }
};

TEST_F(SummaryTest, AndWhatCameAfterItSayTheSameAsTheWholeLogs) {
  {
    RunLog log = Open();
    Fill(log, 1);
    EXPECT_GT(log.bytes_since_summary(), 0u);
    KnownBy(directory_.path(), log);
    EXPECT_EQ(log.bytes_since_summary(), 0u);
    Fill(log, 2);
  }
  const auto with_summary = ReadProgress(directory_.path());
  RunLog from_summary = Open();
  const std::string known = KnownBy(directory_.path(), from_summary);
  ASSERT_TRUE(RemoveTree(JoinPath(directory_.path(), "summary")).ok());
  RunLog from_logs = Open();
  EXPECT_EQ(known, KnownBy(directory_.path(), from_logs));
  ASSERT_TRUE(RemoveTree(JoinPath(directory_.path(), "summary")).ok());
  const auto without_summary = ReadProgress(directory_.path());
  for (const auto& progress : {with_summary, without_summary}) {
    ASSERT_TRUE(progress.ok());
    EXPECT_EQ(progress->newest->step, 14);
    EXPECT_EQ(progress->skipped_steps, 2);
    EXPECT_EQ(progress->validation_loss, 4.0);
    EXPECT_EQ(progress->warning, "of epoch 2");
    EXPECT_EQ(progress->epochs,
              (std::vector<EpochStart>{{1, 10, 14, At(0), At(0)}, {2, 10, 14, At(0), At(0)}}));
  }
}

// Saves the summary as the Recorder does when it closes a log.
TEST_F(SummaryTest, KeepsTheProgressOfPointsThatAreNotKept) {
  limits_.points_bytes_max = 10;
  {
    RunLog log = Open();
    Fill(log, 1);
    KnownBy(directory_.path(), log);
    ASSERT_TRUE(log.AppendPoints({MakePoint(1, 15)}).ok());
    ASSERT_GT(log.bytes_since_summary(), 0u);
    ASSERT_TRUE(log.Sync().ok());
    ASSERT_TRUE(log.SaveSummary().ok());
    EXPECT_EQ(log.bytes_since_summary(), 0u);
  }
  EXPECT_EQ(StepsIn(directory_.path()), std::vector<int64_t>{10});
  EXPECT_EQ(ReadProgress(directory_.path())->newest->step, 15);
  EXPECT_EQ(Open().progress().steps_taken, 6);
}

// The damage to the first record stays unnoticed, because data that the summary covers is not read.
TEST_F(SummaryTest, SparesReadingWhatItTellsAbout) {
  {
    RunLog log = Open();
    Fill(log, 1);
    KnownBy(directory_.path(), log);
  }
  std::string bytes = *ReadFile(PointsPath(directory_.path()));
  bytes[kRecordFileMagic.size() + kRecordHeaderBytes] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(PointsPath(directory_.path()), bytes).ok());
  RunLog log = Open();
  EXPECT_EQ(log.progress().skipped_steps, 1);
  EXPECT_EQ(*ReadFile(PointsPath(directory_.path())), bytes);
}

TEST_F(SummaryTest, ThatIsDamagedOrOfOtherLogsIsNotUsed) {
  std::string known;
  {
    RunLog log = Open();
    Fill(log, 1);
    known = KnownBy(directory_.path(), log);
  }
  const std::string path = JoinPath(directory_.path(), "summary");
  const std::string whole = *ReadFile(path);
  for (size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    EXPECT_EQ(ReadProgress(directory_.path())->skipped_steps, 1) << size;
  }
  RunSummary wrong = *DecodeSummary(known);
  wrong.points_bytes += 1;
  wrong.progress.newest->step = 99;
  ASSERT_TRUE(WriteRecord(path, EncodeSummary(wrong)).ok());
  EXPECT_EQ(ReadProgress(directory_.path())->newest->step, 14);
  EXPECT_EQ(Open().progress().newest->step, 14);
  EXPECT_FALSE(FileExists(path)) << "it would seem to fit when the log has grown";
}

TEST_F(RunLogTest, CutsAWarningOfAnyLength) {
  contract::TrainingPoint point = MakePoint(1, 1);
  point.warning = std::string(3 << 20, 'w');
  point.peak_source = std::string(3 << 20, 's');
  ASSERT_TRUE(Open().AppendPoints({point}).ok());
  EXPECT_EQ(ReadProgress(directory_.path())->warning.size(), limits_.line_bytes_max);
}

TEST_F(RunLogTest, AnotherKindOfFileIsRefused) {
  ASSERT_TRUE(WriteFileAtomically(PointsPath(directory_.path()), "something else").ok());
  const auto log = RunLog::Open(directory_.path(), limits_);
  EXPECT_EQ(log.status().code(), StatusCode::kDataLoss);
  EXPECT_NE(Message(log.status()).find("points.log"), std::string::npos);
}

}  // namespace
}  // namespace gp::coordinator
