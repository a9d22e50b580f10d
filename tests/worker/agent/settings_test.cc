#include "worker/agent/settings.h"

#include <gtest/gtest.h>

#include <map>

#include "base/file.h"
#include "daemon/settings_reader.h"
#include "lib/daemon/shipped_settings.h"

namespace gp::agent {
namespace {

std::vector<ConfigProblem> Read(const std::string& text, WorkerSettings& settings) {
  return daemon::ReadSettingsFile(text, "worker.yaml", SettingsTable(settings));
}

TEST(WorkerSettings, TheShippedFileIsTheDefaults) {
  WorkerSettings settings{.node_name = "x",
                          .data_address = "x",
                          .slots = 9,
                          .coordinator = "x",
                          .coordinator_ca = "x",
                          .join_token_file = "x",
                          .reconnect_max = std::chrono::seconds(9),
                          .state_dir = "x",
                          .storage_root = "x",
                          .data_roots = {"x"},
                          .trainer_program = "x",
                          .trainer_user = "x",
                          .trainer_memory_max = 9,
                          .trainer_environment = {"x"},
                          .start_timeout = std::chrono::seconds(9),
                          .stop_grace = std::chrono::seconds(9),
                          .gpu_devices = "x",
                          .gpu_library = "x",
                          .gpu_trainer_program = "x",
                          .nccl_interface = "x",
                          .gpu_check_interval = std::chrono::seconds(9),
                          .telemetry_items_max = 9,
                          .metrics_public = true,
                          .metrics_keys_file = "x",
                          .metrics_listen = "x",
                          .tls_certificate = "x",
                          .tls_key = "x",
                          .insecure = true};
  const std::string text = ReadFile(daemon::ShippedPath("worker.yaml")).value();
  EXPECT_EQ(RenderProblems(Read(text, settings)), "");
  EXPECT_EQ(settings, WorkerSettings());
}

TEST(WorkerSettings, TheShippedFileHasEveryKey) {
  WorkerSettings settings;
  daemon::ExpectShowsEverySetting("worker.yaml", SettingsTable(settings));
}

TEST(WorkerSettings, OtherMachinesReadTheMetricsOnlyIfItIsAskedFor) {
  WorkerSettings settings;
  EXPECT_TRUE(CheckSettings(settings).ok());
  settings.metrics_listen = "10.0.0.1:7072";
  EXPECT_EQ(CheckSettings(settings).code(), StatusCode::kInvalidArgument);
  settings.insecure = true;
  EXPECT_TRUE(CheckSettings(settings).ok());
  settings.insecure = false;
  settings.metrics_public = true;
  settings.coordinator = "gp.example.org:7070";
  EXPECT_TRUE(CheckSettings(settings).ok()) << "with the node's certificate";
  settings.coordinator = "unix:/run/gp/coordinator.sock";
  EXPECT_NE(Message(CheckSettings(settings)).find("tls.certificate"), std::string::npos);
  settings.tls_certificate = "pem";
  EXPECT_FALSE(CheckSettings(settings).ok()) << "without its key";
  settings.tls_key = "pem";
  EXPECT_TRUE(CheckSettings(settings).ok());
}

TEST(WorkerSettings, EveryKeySetsItsOwnField) {
  WorkerSettings settings;
  const auto problems = Read(
      "node: {name: a, data_address: b, slots: 3}\n"
      "coordinator: {address: 'c:4', reconnect_max: 5s, ca: /m, join_token_file: /n}\n"
      "state: {dir: d}\nstorage: {root: e}\n"
      "trainer: {program: f, environment: [g, h], memory_max: 1000000, start_timeout: 6s, "
      "stop_grace: 7s}\n"
      "gpu: {devices: '1', library: i, trainer: j, nccl_interface: k, check_interval: 8s}\n"
      "telemetry: {items_max: 9000}\nmetrics: {listen: 'l:10', public: true, keys_file: /o}\n"
      "tls: {certificate: /p, key: /q}\nnetwork: {insecure: true}\n",
      settings);
  EXPECT_EQ(RenderProblems(problems), "");
  using std::chrono::seconds;
  EXPECT_EQ(settings, (WorkerSettings{.node_name = "a",
                                      .data_address = "b",
                                      .slots = 3,
                                      .coordinator = "c:4",
                                      .coordinator_ca = "/m",
                                      .join_token_file = "/n",
                                      .reconnect_max = seconds(5),
                                      .state_dir = "d",
                                      .storage_root = "e",
                                      .trainer_program = "f",
                                      .trainer_memory_max = 1'000'000,
                                      .trainer_environment = {"g", "h"},
                                      .start_timeout = seconds(6),
                                      .stop_grace = seconds(7),
                                      .gpu_devices = "1",
                                      .gpu_library = "i",
                                      .gpu_trainer_program = "j",
                                      .nccl_interface = "k",
                                      .gpu_check_interval = seconds(8),
                                      .telemetry_items_max = 9000,
                                      .metrics_public = true,
                                      .metrics_keys_file = "/o",
                                      .metrics_listen = "l:10",
                                      .tls_certificate = "/p",
                                      .tls_key = "/q",
                                      .insecure = true}));
}

TEST(WorkerSettings, ProblemsHaveAPlaceAndAWayOut) {
  WorkerSettings settings;
  const auto problems = Read("node:\n  slot: 3\ntrainer:\n  stop_grace: soon\n", settings);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].line, 2);
  EXPECT_EQ(problems[0].hint, "did you mean 'node.slots'?");
  EXPECT_EQ(problems[1].line, 4);
  EXPECT_EQ(problems[1].key, "trainer.stop_grace");
}

TEST(WorkerSettings, AddressesAndDevicesMustBeUsable) {
  for (const char* text :
       {"coordinator: {address: nowhere}", "coordinator: {address: 'h:0'}",
        "metrics: {listen: nowhere}", "metrics: {listen: 'unix:/m'}", "gpu: {devices: 'x,y'}"}) {
    WorkerSettings settings;
    EXPECT_EQ(Read(text, settings).size(), 1u) << text;
  }
  WorkerSettings settings;
  EXPECT_TRUE(Read("metrics: {listen: 'h:0'}", settings).empty());
  EXPECT_TRUE(Read("coordinator: {address: 'unix:/run/gp.sock'}", settings).empty());
}

TEST(WorkerSettings, FlagsKeepTheirNames) {
  WorkerSettings settings;
  std::map<std::string, std::string> flags;
  for (const daemon::Setting& setting : SettingsTable(settings)) {
    if (!setting.flag.empty()) flags[setting.flag] = setting.field.path;
  }
  EXPECT_EQ(flags, (std::map<std::string, std::string>{
                       {"--name", "node.name"},
                       {"--data-address", "node.data_address"},
                       {"--slots", "node.slots"},
                       {"--coordinator", "coordinator.address"},
                       {"--join-token-file", "coordinator.join_token_file"},
                       {"--state-dir", "state.dir"},
                       {"--storage-root", "storage.root"},
                       {"--data-root", "data.roots"},
                       {"--trainer", "trainer.program"},
                       {"--gpus", "gpu.devices"},
                       {"--gpu-trainer", "gpu.trainer"},
                       {"--metrics-listen", "metrics.listen"},
                       {"--tls-certificate", "tls.certificate"},
                       {"--tls-key", "tls.key"},
                       {"--insecure", "network.insecure"}}));
}

}  // namespace
}  // namespace gp::agent
