#include "worker/agent/metrics.h"

#include <gmock/gmock.h>
#include <unistd.h>

namespace gp::agent {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

const MonotonicTime kRankEnd(std::chrono::hours(1));

RankKey RankOf(uint64_t epoch, int rank = 0) { return {"r", epoch, rank}; }

link::StepReport Stepped(int64_t failed_saves = 0) {
  link::StepReport report;
  report.point.step_seconds = 0.5;
  report.point.phases.backward = 0.25;
  report.rank.failed_saves = failed_saves;
  return report;
}

TEST(AgentMetrics, StepsHaveTheirRunAndRank) {
  AgentMetrics metrics("test");
  metrics.StepCommitted(RankOf(1, 3), Stepped());
  metrics.StepCommitted(RankOf(1, 3), Stepped());
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("gp_worker_step_duration_seconds_count{rank=\"3\",run=\"r\"} 2"));
  EXPECT_THAT(
      text, HasSubstr("gp_worker_step_phase_seconds_total{phase=\"backward\",rank=\"3\",run=\"r\"} "
                      "0.5"));
  EXPECT_THAT(text, Not(HasSubstr("gp_checkpoint_failures_total{")));  // only rank 0 saves
}

TEST(AgentMetrics, AllReducesHaveSeriesWhereTheRankMeasuresThem) {
  AgentMetrics metrics("test");
  metrics.StepCommitted(RankOf(1), Stepped());
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("gp_worker_allreduce_seconds_total{")));
  link::StepReport report = Stepped();
  report.rank.allreduce_seconds = 0.25;
  report.rank.allreduce_bytes = 4096;
  metrics.StepCommitted(RankOf(1, 1), report);
  report.rank.allreduce_seconds = -1;
  metrics.StepCommitted(RankOf(1, 1), report);
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("gp_worker_allreduce_seconds_total{rank=\"1\",run=\"r\"} 0.25"));
  EXPECT_THAT(text, HasSubstr("gp_worker_allreduce_bytes_total{rank=\"1\",run=\"r\"} 8192"));
  metrics.RankEnded(RankOf(1, 1), kRankEnd);
  metrics.RemoveEnded(kRankEnd + seconds(60));
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("rank=\"1\"")));
}

TEST(AgentMetrics, TheLoaderHasSeriesOfItsOwn) {
  AgentMetrics metrics("test");
  link::StepReport report = Stepped();
  report.rank.batches_ready = 1;
  report.rank.data_read_bytes = 100;
  metrics.StepCommitted(RankOf(1), report);
  report.rank.batches_ready = 0;
  metrics.StepCommitted(RankOf(1), report);
  EXPECT_THAT(metrics.Text(), HasSubstr("gp_data_prefetched_batches{rank=\"0\",run=\"r\"} 0"));
  EXPECT_THAT(metrics.Text(), HasSubstr("gp_data_read_bytes_total{rank=\"0\",run=\"r\"} 200"));
}

// A value on the /metrics page; -1 if the series is absent.
double ValueOf(const AgentMetrics& metrics, const std::string& series) {
  const std::string text = metrics.Text();
  const size_t at = text.find("\n" + series + " ");
  return at == std::string::npos ? -1 : std::stod(text.substr(at + series.size() + 2));
}

TEST(AgentMetrics, MemoryIsThatOfTheLivingProcess) {
  constexpr char kResident[] = "gp_worker_memory_resident_bytes{rank=\"0\",run=\"r\"}";
  constexpr char kLimit[] = "gp_worker_memory_limit_bytes{rank=\"0\",run=\"r\"}";
  AgentMetrics metrics("test");
  metrics.TrainerStarted(RankOf(1), getpid(), 0);
  EXPECT_GT(ValueOf(metrics, kResident), 1 << 20) << "this process";
  EXPECT_EQ(ValueOf(metrics, kLimit), -1);
  metrics.TrainerStarted(RankOf(2), getpid(), 4096);
  EXPECT_EQ(ValueOf(metrics, kLimit), 4096);
  metrics.RankEnded(RankOf(1), kRankEnd);
  EXPECT_GT(ValueOf(metrics, kResident), 1 << 20) << "the newer one still runs";
  metrics.TrainerStarted(RankOf(3), getpid(), 0);
  EXPECT_EQ(ValueOf(metrics, kLimit), -1) << "the newest one has no limit";
  metrics.TrainerStarted(RankOf(4), getpid(), 8192);
  EXPECT_EQ(ValueOf(metrics, kLimit), 8192);
  metrics.RankEnded(RankOf(4), kRankEnd);
  EXPECT_EQ(ValueOf(metrics, kResident), -1);
  EXPECT_EQ(ValueOf(metrics, kLimit), -1);
}

TEST(AgentMetrics, SeriesGoAMinuteAfterTheirRank) {
  AgentMetrics metrics("test");
  metrics.StepCommitted(RankOf(1), Stepped());
  metrics.CheckpointWritten(
      RankOf(1), {.blocking_seconds = 0.125, .background_seconds = 0.5, .size_bytes = 100});
  metrics.RankEnded(RankOf(1), kRankEnd);
  metrics.RemoveEnded(kRankEnd + seconds(59));
  for (const char* series :
       {"count{mode=\"background\",run=\"r\"} 1", "sum{mode=\"background\",run=\"r\"} 0.5",
        "count{mode=\"blocking\",run=\"r\"} 1", "sum{mode=\"blocking\",run=\"r\"} 0.125"}) {
    EXPECT_THAT(metrics.Text(), HasSubstr(std::string("gp_checkpoint_duration_seconds_") + series));
  }
  metrics.RemoveEnded(kRankEnd + seconds(60));
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("run=\"r\"")));
}

TEST(AgentMetrics, ANewerEpochGoesOnWithTheSeries) {
  AgentMetrics metrics("test");
  metrics.StepCommitted(RankOf(1), Stepped());
  metrics.StepCommitted(RankOf(2), Stepped());
  metrics.RankEnded(RankOf(1), kRankEnd);
  metrics.RemoveEnded(kRankEnd + seconds(100));
  EXPECT_THAT(metrics.Text(),
              HasSubstr("gp_worker_step_duration_seconds_count{rank=\"0\",run=\"r\"} 2"));
}

TEST(AgentMetrics, FailedSavesOfEveryEpochAreCounted) {
  AgentMetrics metrics("test");
  metrics.StepCommitted(RankOf(1), Stepped());
  EXPECT_THAT(metrics.Text(), HasSubstr("gp_checkpoint_failures_total{run=\"r\"} 0"));
  metrics.StepCommitted(RankOf(1), Stepped(2));
  metrics.StepCommitted(RankOf(1), Stepped(2));
  metrics.StepCommitted(RankOf(2), Stepped(1));
  EXPECT_THAT(metrics.Text(), HasSubstr("gp_checkpoint_failures_total{run=\"r\"} 3"));
}

}  // namespace
}  // namespace gp::agent
