#include "worker/agent/metrics.h"

#include <gmock/gmock.h>

namespace gp::agent {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

const MonotonicTime kRankEnd(std::chrono::hours(1));

RankKey RankOf(uint64_t epoch, int rank = 0) { return {"r", epoch, rank}; }

link::StepReport Stepped(int64_t failed_saves = 0) {
  link::StepReport report;
  report.step_seconds = 0.5;
  report.phases.backward = 0.25;
  report.failed_saves = failed_saves;
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
  EXPECT_THAT(text, Not(HasSubstr("gp_checkpoint_failures_total{")));  // rank 0 saves
}

TEST(AgentMetrics, SeriesGoAMinuteAfterTheirRank) {
  AgentMetrics metrics("test");
  metrics.StepCommitted(RankOf(1), Stepped());
  metrics.CheckpointWritten(RankOf(1), 0.5, 100);
  metrics.RankEnded(RankOf(1), kRankEnd);
  metrics.RemoveEnded(kRankEnd + seconds(59));
  EXPECT_THAT(metrics.Text(), HasSubstr("gp_checkpoint_duration_seconds_count{run=\"r\"} 1"));
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
