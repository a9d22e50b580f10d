#include "worker/trainer/run_records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/file.h"
#include "base/random_id.h"
#include "fakes/fake_clock.h"
#include "formats/event_file.h"
#include "formats/metrics_line.h"
#include "storage/local_storage.h"

namespace gp::engine {
namespace {

class RunRecordsTest : public testing::Test {
 protected:
  ~RunRecordsTest() override { EXPECT_TRUE(RemoveTree(directory_).ok()); }

  RunRecords OpenAt(int64_t step) {
    auto records = RunRecords::Open(directory_, step, SystemClock());
    EXPECT_TRUE(records.ok()) << records.status();
    return std::move(records).value();
  }

  static contract::TrainingPoint PointAt(int64_t step, double loss) {
    contract::TrainingPoint point;
    point.step = step;
    point.loss = loss;
    return point;
  }

  std::string Path(const std::string& name) const { return JoinPath(directory_, name); }

  std::vector<int64_t> StepsInMetrics() const {
    std::vector<int64_t> steps;
    std::string text = ReadFile(Path("metrics.jsonl")).value();
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      steps.push_back(formats::ParseMetricsLine(text.substr(0, end)).value().step);
      text.erase(0, end + 1);
    }
    EXPECT_EQ(text, "") << "part of a line";
    return steps;
  }

  // The events in each process's event file, oldest file first.
  std::vector<std::vector<formats::ScalarEvent>> EventFiles() const {
    std::vector<std::vector<formats::ScalarEvent>> files;
    std::vector<std::string> names = ListDirectory(directory_).value();
    std::ranges::sort(names);
    for (const std::string& name : names) {
      if (name.find("tfevents") == std::string::npos) continue;
      files.push_back(formats::ParseEventFile(ReadFile(Path(name)).value()).value());
    }
    return files;
  }

  std::vector<int64_t> StepsInEvents() const {
    std::vector<int64_t> steps;
    for (const auto& events : EventFiles()) {
      for (const auto& event : events) {
        if (!event.scalars.empty()) steps.push_back(event.step);
      }
    }
    return steps;
  }

  const std::string directory_ = testing::TempDir() + "gp-records-" + RandomId(8);
};

TEST_F(RunRecordsTest, ADirectorySaysItsVersionAndANewerOneIsRefused) {
  OpenAt(0);
  EXPECT_EQ(ReadFile(Path("format.json")).value(), "{\"format\":\"gp-run\",\"version\":1}\n");
  ASSERT_TRUE(WriteFileAtomically(Path("format.json"), R"({"format":"gp-run","version":99})").ok());
  const Status refused = RunRecords::Open(directory_, 0, SystemClock()).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(refused).find("the run directory " + directory_ + " has version 99"),
            std::string::npos)
      << refused;
}

TEST_F(RunRecordsTest, AResumeDropsWhatIsBeyondItsStep) {
  {
    RunRecords records = OpenAt(0);
    for (int64_t step = 1; step <= 9; ++step) records.WriteStep(PointAt(step, 1.0));
    records.WriteSample(3, "\n", "early");
    records.WriteSample(8, "\n", "late");
  }
  RunRecords records = OpenAt(5);
  records.WriteStep(PointAt(6, 2.0));
  EXPECT_EQ(StepsInMetrics(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(StepsInEvents(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  const std::string samples = ReadFile(Path("samples.jsonl")).value();
  EXPECT_NE(samples.find("early"), std::string::npos);
  EXPECT_EQ(samples.find("late"), std::string::npos);
}

// A running TensorBoard has already read the dropped steps, so it must be told to drop them too.
// Case runs-and-service/04: after a restart, TensorBoard showed the lost steps too.
TEST_F(RunRecordsTest, EachProcessSaysAtWhichStepItBegins) {
  FakeClock clock;
  ASSERT_TRUE(RunRecords::Open(directory_, 0, clock).ok());
  clock.Advance(std::chrono::hours(1));
  ASSERT_TRUE(RunRecords::Open(directory_, 5, clock).ok());
  const std::vector<std::vector<formats::ScalarEvent>> files = EventFiles();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].at(1).step, 1);
  EXPECT_EQ(files[1].at(1).step, 6);
}

TEST_F(RunRecordsTest, TensorBoardGetsHyperparametersAndSamples) {
  RunRecords records = OpenAt(0);
  records.WriteResolved("optimizer: {lr: 6e-4}\ndata: {text: [a.txt]}\nfast: true\n");
  records.WriteStep(PointAt(1, 1.0));
  records.WriteSample(1, "Once", " upon\na time");
  std::string bytes;
  for (const std::string& name : ListDirectory(directory_).value()) {
    if (name.find("tfevents") != std::string::npos) bytes = ReadFile(Path(name)).value();
  }
  for (const char* word : {"_hparams_/session_start_info", "optimizer.lr", "data.text.0", "a.txt",
                           "samples/text_summary", "    Once upon\n    a time"}) {
    EXPECT_NE(bytes.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(StepsInEvents(), (std::vector<int64_t>{1}));
}

// What is not a scalar must not hide the scalars behind it from a resume.
TEST_F(RunRecordsTest, AResumeKeepsHyperparametersAndSamples) {
  {
    RunRecords records = OpenAt(0);
    records.WriteResolved("seed: 1\n");
    for (int64_t step = 1; step <= 9; ++step) {
      records.WriteStep(PointAt(step, 1.0));
      records.WriteSample(step, "", "text " + std::to_string(step));
    }
  }
  RunRecords records = OpenAt(5);
  EXPECT_EQ(StepsInEvents(), (std::vector<int64_t>{1, 2, 3, 4, 5}));
}

TEST_F(RunRecordsTest, ALineThatACrashCutShortIsDropped) {
  { OpenAt(0).WriteStep(PointAt(1, 1.0)); }
  std::string text = ReadFile(Path("metrics.jsonl")).value();
  ASSERT_TRUE(WriteFileAtomically(Path("metrics.jsonl"), text + "{\"step\": 2, \"lo").ok());
  OpenAt(5).WriteStep(PointAt(2, 1.0));
  EXPECT_EQ(StepsInMetrics(), (std::vector<int64_t>{1, 2}));
}

TEST_F(RunRecordsTest, TextThatIsNotUtf8IsStillALineOfJson) {
  OpenAt(0).WriteSample(1, "\n", "a\xff\"b\n");
  EXPECT_EQ(ReadFile(Path("samples.jsonl")).value(),
            "{\"prompt\":\"\\n\",\"step\":1,\"text\":\"a\xef\xbf\xbd\\\"b\\n\"}\n");
}

TEST_F(RunRecordsTest, TheTimeOfTheRecordedStepsIsTheirSum) {
  EXPECT_EQ(ReadRecordedSteps(directory_).count, 0);
  {
    RunRecords records = OpenAt(0);
    contract::TrainingPoint point = PointAt(1, 1.0);
    for (const double seconds : {0.5, 0.25, std::numeric_limits<double>::quiet_NaN(), 1.0}) {
      point.step_seconds = seconds;
      records.WriteStep(point);
      ++point.step;
    }
  }
  EXPECT_EQ(ReadRecordedSteps(directory_).count, 3);
  EXPECT_EQ(ReadRecordedSteps(directory_).seconds, 1.75);
  OpenAt(2);  // drops the later steps
  EXPECT_EQ(ReadRecordedSteps(directory_).seconds, 0.75);
}

TEST_F(RunRecordsTest, TheStoredBudgetComesBack) {
  OpenAt(0);
  EXPECT_EQ(ReadStoredBudget(directory_).value(), StepBudget());
  LocalStorage storage;
  ASSERT_TRUE(StoreBudget(storage, directory_, {1234, 56}).ok());
  EXPECT_EQ(ReadStoredBudget(directory_).value(), (StepBudget{1234, 56}));
}

TEST_F(RunRecordsTest, ADamagedBudgetIsNamed) {
  OpenAt(0);
  LocalStorage storage;
  ASSERT_TRUE(StoreBudget(storage, directory_, {1234, 56}).ok());
  const std::string whole = ReadFile(Path("budget.json")).value();
  for (size_t size = 0; size + 2 < whole.size(); ++size) {
    ASSERT_TRUE(WriteFileAtomically(Path("budget.json"), whole.substr(0, size)).ok());
    const auto budget = ReadStoredBudget(directory_);
    EXPECT_EQ(budget.status().code(), StatusCode::kDataLoss) << size;
    EXPECT_NE(Message(budget.status()).find("budget.json"), std::string::npos);
  }
}

}  // namespace
}  // namespace gp::engine
