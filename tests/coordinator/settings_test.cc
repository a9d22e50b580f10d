#include "coordinator/settings.h"

#include <gtest/gtest.h>

#include <map>

#include "base/file.h"
#include "daemon/settings_reader.h"
#include "lib/daemon/shipped_settings.h"

namespace gp::coordinator {
namespace {

std::vector<ConfigProblem> Read(const std::string& text, CoordinatorSettings& settings) {
  return daemon::ReadSettingsFile(text, "coordinator.yaml", SettingsTable(settings));
}

TEST(CoordinatorSettings, TheFileShowsEveryKeyAtItsDefault) {
  const auto text = ReadFile(daemon::ShippedPath("coordinator.yaml"));
  ASSERT_TRUE(text.ok()) << text.status();
  CoordinatorSettings settings;
  settings.lease = settings.report_interval = settings.start_timeout = std::chrono::hours(9);
  settings.finish_timeout = std::chrono::hours(9);
  settings.listen = settings.metrics_listen = settings.state_dir = settings.storage_root = "?";
  settings.metrics_keys_file = settings.socket = settings.tls_certificate = settings.tls_key =
      settings.tls_client_ca = "?";
  settings.advertise = {"?"};
  settings.tls_lifetime = std::chrono::hours(9);
  settings.points_bytes_max = settings.lines_bytes_max = 1;
  settings.insecure = settings.metrics_public = true;
  EXPECT_EQ(RenderProblems(Read(*text, settings)), "");
  EXPECT_EQ(settings, CoordinatorSettings());
  daemon::ExpectShowsEverySetting("coordinator.yaml", SettingsTable(settings));
}

TEST(CoordinatorSettings, EveryKeySetsItsOwnField) {
  CoordinatorSettings settings;
  const auto problems = Read(
      "server: {listen: '10.0.0.1:1', socket: /s/c, advertise: [a, b]}\n"
      "metrics: {listen: '10.0.0.2:2', public: true, keys_file: /m}\nnetwork: {insecure: "
      "true}\nstate: {dir: /s}\n"
      "tls: {certificate: /c, key: /k, client_ca: /a, lifetime: 25s}\n"
      "storage: {root: /r}\nagents: {lease: 21s, report_interval: 22s}\n"
      "runs: {start_timeout: 23s, finish_timeout: 24s}\ngradients: {encrypted: true}\n"
      "logs: {points_bytes_max: 100001, lines_bytes_max: 100002}\n",
      settings);
  EXPECT_EQ(RenderProblems(problems), "");
  using std::chrono::seconds;
  EXPECT_EQ(settings, (CoordinatorSettings{.socket = "/s/c",
                                           .listen = "10.0.0.1:1",
                                           .advertise = {"a", "b"},
                                           .metrics_public = true,
                                           .metrics_keys_file = "/m",
                                           .metrics_listen = "10.0.0.2:2",
                                           .insecure = true,
                                           .tls_certificate = "/c",
                                           .tls_key = "/k",
                                           .tls_client_ca = "/a",
                                           .tls_lifetime = seconds(25),
                                           .state_dir = "/s",
                                           .storage_root = "/r",
                                           .lease = seconds(21),
                                           .report_interval = seconds(22),
                                           .start_timeout = seconds(23),
                                           .finish_timeout = seconds(24),
                                           .encrypt_gradients = true,
                                           .points_bytes_max = 100'001,
                                           .lines_bytes_max = 100'002}));
}

TEST(CoordinatorSettings, EveryProblemIsToldWithItsPlace) {
  CoordinatorSettings settings;
  const auto problems = Read(
      "agents:\n  leese: 10s\n  report_interval: soon\nlogs:\n  lines_bytes_max: -1\nserver: 7\n"
      "metrics:\n  listen: nowhere\n",
      settings);
  ASSERT_EQ(problems.size(), 5u) << RenderProblems(problems);
  EXPECT_EQ(problems[0].line, 2);
  EXPECT_NE(problems[0].hint.find("agents.lease"), std::string::npos);
  EXPECT_EQ(problems[1].line, 3);
  EXPECT_EQ(problems[2].line, 5);
  EXPECT_EQ(problems[3].line, 6);
  EXPECT_EQ(problems[4].line, 8);
}

TEST(CoordinatorSettings, LimitsAreWhatTheyWere) {
  for (const char* text : {"agents: {lease: 499ms}", "agents: {report_interval: 49ms}",
                           "runs: {start_timeout: 999ms}", "runs: {finish_timeout: 999ms}",
                           "logs: {points_bytes_max: 65535}", "logs: {lines_bytes_max: 65535}"}) {
    CoordinatorSettings settings;
    EXPECT_EQ(Read(text, settings).size(), 1u) << text;
  }
}

TEST(CoordinatorSettings, OtherMachinesDoNotReachTheMetricsUnlessItIsAskedFor) {
  CoordinatorSettings settings;
  EXPECT_TRUE(CheckSettings(settings).ok());
  settings.metrics_listen = "0.0.0.0:7070";
  const Status refused = CheckSettings(settings);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Message(refused).find("metrics.public"), std::string::npos) << refused;
  settings.insecure = true;
  EXPECT_TRUE(CheckSettings(settings).ok());
  settings.insecure = false;
  settings.metrics_public = true;
  EXPECT_TRUE(CheckSettings(settings).ok());
}

TEST(CoordinatorSettings, ACertificateHasItsKeyAndMeansTls) {
  EXPECT_FALSE(CheckSettings({.tls_certificate = "/c"}).ok());
  EXPECT_FALSE(CheckSettings({.tls_key = "/k"}).ok());
  EXPECT_TRUE(CheckSettings({.tls_certificate = "/c", .tls_key = "/k"}).ok());
  EXPECT_FALSE(CheckSettings({.insecure = true, .tls_certificate = "/c", .tls_key = "/k"}).ok());
}

TEST(CoordinatorSettings, TheSocketIsNotAmongTheAddressesToListenOn) {
  CoordinatorSettings settings;
  EXPECT_EQ(Read("server: {listen: 'unix:/s/c'}", settings).size(), 1u);
}

TEST(CoordinatorSettings, ALeaseOutlastsTwoReports) {
  CoordinatorSettings settings;
  settings.report_interval = settings.lease / 2;
  EXPECT_TRUE(CheckSettings(settings).ok());
  settings.report_interval += std::chrono::nanoseconds(1);
  EXPECT_FALSE(CheckSettings(settings).ok());
}

TEST(CoordinatorSettings, FlagsKeepTheirNames) {
  CoordinatorSettings settings;
  std::map<std::string, std::string> flags;
  for (const daemon::Setting& setting : SettingsTable(settings)) {
    if (!setting.flag.empty()) flags[setting.flag] = setting.field.path;
  }
  EXPECT_EQ(flags, (std::map<std::string, std::string>{{"--advertise", "server.advertise"},
                                                       {"--insecure", "network.insecure"},
                                                       {"--listen", "server.listen"},
                                                       {"--metrics-listen", "metrics.listen"},
                                                       {"--socket", "server.socket"},
                                                       {"--state-dir", "state.dir"},
                                                       {"--storage-root", "storage.root"},
                                                       {"--tls-certificate", "tls.certificate"},
                                                       {"--tls-key", "tls.key"}}));
}

}  // namespace
}  // namespace gp::coordinator
