// The files that 'gpctl up --monitoring' writes, and its message when Prometheus is missing.
// tests/deploy/monitoring_live_test.py runs a real Prometheus.
#include "client/gpctl/service/monitoring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>

#include "base/file.h"
#include "client/gpctl/gpctl_runner.h"
#include "client/gpctl/service/path_guard.h"

namespace gp::gpctl {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class MonitoringTest : public ::testing::Test {
 protected:
  std::string Written(const std::string& name) const {
    return ReadFile(directory_.Path("monitoring/" + name)).value_or("");
  }

  gp::testing::GpctlRunner gpctl_;
  ServiceDirectory directory_{gpctl_.home() + "/state"};
};

TEST_F(MonitoringTest, WithoutPrometheusUpSaysHowToInstallItAndStartsNothing) {
  const PathGuard path(gpctl_.home());
  const auto result = gpctl_.Run({"up", "--monitoring", "--state-dir", directory_.root()});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("apt install prometheus"));
  EXPECT_FALSE(FileExists(directory_.root()));
}

TEST_F(MonitoringTest, TheProgramIsFoundOnThePath) {
  const std::string program = gpctl_.home() + "/prometheus";
  ASSERT_TRUE(WriteFileAtomically(program, "#!/bin/sh\n", 0700).ok());
  const PathGuard path("/nowhere:" + gpctl_.home());
  const auto found = FindPrometheus();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, std::filesystem::canonical(program).string());
}

TEST_F(MonitoringTest, ScrapesWhatRunsUnderTheJobsThatTheRulesName) {
  ServiceRecord record;
  record.coordinator_metrics = "127.0.0.1:7071";
  record.worker_metrics = "127.0.0.1:7072";
  record.gateway_metrics = "127.0.0.1:7073";
  ASSERT_TRUE(WriteMonitoringFiles(directory_, record).ok());
  EXPECT_THAT(Written("prometheus.yml"), HasSubstr("job_name: gp-coordinator\n    static_configs:\n"
                                                   "      - targets: [\"127.0.0.1:7071\"]\n"));
  EXPECT_THAT(Written("prometheus.yml"), Not(HasSubstr("gp-gateway"))) << "none runs";
  record.gateway.pid = 1;
  ASSERT_TRUE(WriteMonitoringFiles(directory_, record).ok());
  EXPECT_THAT(Written("prometheus.yml"), HasSubstr("\"127.0.0.1:7073\""));
  EXPECT_THAT(Written("rules.yml"), HasSubstr("run:gp_run_goodput:ratio_rate1h"));
  EXPECT_THAT(Written("alerts.yml"), HasSubstr("GpRunStalled"));
}

TEST_F(MonitoringTest, APortIsChosenOnceAndKept) {
  const auto chosen = WithFreePort("127.0.0.1:0");
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_THAT(*chosen, StartsWith("127.0.0.1:"));
  EXPECT_THAT(*chosen, Not(EndsWith(":0")));
  EXPECT_EQ(WithFreePort(*chosen).value_or(""), *chosen);
}

TEST_F(MonitoringTest, APortWhereNobodyListensAcceptsNoConnections) {
  // Bound, so that no other program can listen there meanwhile.
  const FileDescriptor deaf(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(deaf.get(), raw, size), 0);
  ASSERT_EQ(getsockname(deaf.get(), raw, &size), 0);
  const std::string place = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  EXPECT_FALSE(AcceptsConnections(place));
  ASSERT_EQ(listen(deaf.get(), 1), 0);
  EXPECT_TRUE(AcceptsConnections(place));
}

}  // namespace
}  // namespace gp::gpctl
