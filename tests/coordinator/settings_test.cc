#include "coordinator/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "base/file.h"
#include "coordinator/metrics.h"
#include "coordinator/options.h"
#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

std::string ConfigPath() {
  const char* source = std::getenv("GP_SOURCE");
  return JoinPath(source == nullptr ? "." : source, "configs/coordinator.yaml");
}

TEST(CoordinatorSettings, TheFileShowsEveryKeyAtItsDefault) {
  const auto text = ReadFile(ConfigPath());
  ASSERT_TRUE(text.ok()) << text.status();
  CoordinatorSettings settings;
  settings.lease = settings.report_interval = settings.start_timeout = std::chrono::hours(9);
  settings.finish_timeout = std::chrono::hours(9);
  settings.listen = settings.metrics_listen = settings.state_dir = settings.storage_root = "?";
  settings.points_bytes_max = settings.lines_bytes_max = 1;
  EXPECT_TRUE(ReadSettings(*text, "coordinator.yaml", settings).empty());
  EXPECT_EQ(settings, CoordinatorSettings());
  for (const std::string& key : SettingKeys()) {
    const std::string last = key.substr(key.rfind('.') + 1);
    EXPECT_NE(text->find(last + ":"), std::string::npos) << key;
  }
}

TEST(CoordinatorSettings, EveryProblemIsToldWithItsPlace) {
  CoordinatorSettings settings;
  const auto problems = ReadSettings(
      "agents:\n  leese: 10s\n  report_interval: soon\nlogs:\n  lines_bytes_max: -1\nserver: 7\n",
      "c.yaml", settings);
  ASSERT_EQ(problems.size(), 4u);
  EXPECT_EQ(problems[0].line, 2);
  EXPECT_NE(problems[0].hint.find("agents.lease"), std::string::npos);
  EXPECT_EQ(problems[1].line, 3);
  EXPECT_EQ(problems[2].line, 5);
  EXPECT_EQ(problems[3].line, 6);
}

ParsedOptions Parse(std::vector<const char*> arguments, std::string* error) {
  arguments.insert(arguments.begin(), "gp-coordinator");
  std::ostringstream out;
  std::ostringstream err;
  auto parsed = ParseOptions(static_cast<int>(arguments.size()), arguments.data(), out, err);
  *error = err.str();
  return parsed;
}

TEST(CoordinatorOptions, FlagsWinOverTheFile) {
  std::string error;
  const std::string config = ConfigPath();
  const auto parsed = Parse({"--config", config.c_str(), "--listen", "127.0.0.1:9", "--state-dir",
                             "/s", "--storage-root", "/r"},
                            &error);
  ASSERT_TRUE(parsed.options.has_value()) << error;
  EXPECT_EQ(parsed.options->settings.listen, "127.0.0.1:9");
  EXPECT_EQ(parsed.options->settings.metrics_listen, CoordinatorSettings().metrics_listen);
}

TEST(CoordinatorOptions, MistakesExitWithTwoAndSayWhat) {
  std::string error;
  EXPECT_EQ(Parse({"--no-such-flag"}, &error).exit_code, kExitUsage);
  EXPECT_EQ(Parse({"--storage-root", "/r"}, &error).exit_code, kExitUsage);
  EXPECT_NE(error.find("--state-dir"), std::string::npos) << error;
  EXPECT_EQ(
      Parse({"--state-dir", "/s", "--storage-root", "/r", "--listen", "nowhere"}, &error).exit_code,
      kExitUsage);
  EXPECT_NE(error.find("HOST:PORT"), std::string::npos) << error;
}

// The value of a series in the exposition text; empty when it is not there.
std::string ValueOf(const CoordinatorMetrics& metrics, const std::string& series) {
  std::istringstream lines(metrics.Text());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(series + " ")) return line.substr(series.size() + 1);
  }
  return "";
}

TEST(CoordinatorMetrics, FollowARunAndForgetItWhenItEnds) {
  CoordinatorMetrics metrics("1", "r");
  Cluster cluster;
  std::vector<StoredEvent> events;
  for (const Event& event : OneOfEachKind()) {
    if (std::holds_alternative<CancelRequested>(event.body)) break;
    ASSERT_TRUE(Apply(event, cluster).ok());
    events.push_back({cluster.last_sequence, event});
  }
  metrics.Published(cluster, events);
  Progress progress;
  Point point;
  point.step = 12;
  point.loss = 3.25;
  point.validation_loss = 3.5;
  point.target_steps = 40;
  point.peak_flops = 4.6e11;
  point.peak_source = "measured";
  point.backward_seconds = 0.25;
  point.skipped = true;
  progress.Add(point);
  metrics.Recorded(RunId("r"), progress);
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_runs{state=\"finishing\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_runs{state=\"queued\"}"), "0");
  EXPECT_EQ(ValueOf(metrics, "gp_run_step{run=\"r\"}"), "12");
  EXPECT_EQ(ValueOf(metrics, "gp_train_loss{run=\"r\"}"), "3.25");
  EXPECT_EQ(ValueOf(metrics, "gp_run_target_steps{run=\"r\"}"), "40");
  EXPECT_EQ(ValueOf(metrics, "gp_run_peak_flops{run=\"r\",source=\"measured\"}"), "460000000000");
  EXPECT_EQ(ValueOf(metrics, "gp_run_step_phase_seconds{phase=\"backward\",run=\"r\"}"), "0.25");
  EXPECT_EQ(ValueOf(metrics, "gp_run_step_phase_seconds{phase=\"forward\",run=\"r\"}"), "0");
  EXPECT_EQ(ValueOf(metrics, "gp_train_skipped_steps_total{reason=\"nonfinite\",run=\"r\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "gp_eval_loss{run=\"r\",split=\"val\"}"), "3.5");
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_run_restarts_total{reason=\"signal\"}"), "1");

  const Event end{RunId("r"), At(9), "scheduler", "", RunEnded{RunState::kSucceeded, "done"}};
  ASSERT_TRUE(Apply(end, cluster).ok());
  metrics.Published(cluster, {{cluster.last_sequence, end}});
  metrics.Recorded(RunId("r"), progress);
  EXPECT_EQ(metrics.Text().find("run=\"r\""), std::string::npos);
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_runs_finished_total{outcome=\"succeeded\"}"), "1");
}

TEST(CoordinatorMetrics, TheListNamesThoseOfRunsToo) {
  const std::string list = CoordinatorMetrics::List("1", "r");
  for (const char* name :
       {"gp_build_info", "gp_coordinator_runs", "gp_run_mfu", "gp_train_loss", "gp_eval_loss",
        "gp_coordinator_run_restarts_total", "gp_checkpoint_last_success_timestamp_seconds"}) {
    EXPECT_NE(list.find(std::string("# TYPE ") + name + " "), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace gp::coordinator
