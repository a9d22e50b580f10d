// A kill at every failpoint: the process dies there once and is restarted, and the run ends with
// the weights of an undisturbed run. The failpoints are collected from the sources, so that none is
// forgotten.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <regex>
#include <set>
#include <thread>

#include "base/file.h"
#include "faults/fault_run.h"

namespace gp::testing {
namespace {

constexpr int kFailpointSteps = 30;

struct Place {
  std::string name;
  // The sources of the program with this failpoint: "coordinator", "worker/agent" or
  // "worker/engine".
  std::string folder;
};

void PrintTo(const Place& place, std::ostream* out) { *out << place.name; }

std::vector<Place> FindPlaces() {
  static const std::regex kCall("Failpoint\\(\"([a-z_.]+)\"\\)");
  std::map<std::string, std::string> places;
  for (const char* folder : {"coordinator", "worker/agent", "worker/engine"}) {
    const std::string root = JoinPath(GP_SOURCE_DIRECTORY, folder);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".cc") continue;
      // Runs do not reach these failpoints. tests/coordinator/access tests those in `access`,
      // tests/e2e/notifications_test.py those of notifications, tests/e2e/golden_state_test.py
      // those of migrations, and storage_service_test.cc those of a deletion.
      const std::string parent = entry.path().parent_path().filename();
      if (parent == "access" || parent == "notifications") continue;
      const std::string stem = entry.path().stem();
      if (stem == "database_file" || stem == "run_directories") continue;
      const std::string text = ReadFile(entry.path()).value_or("");
      for (std::sregex_iterator it(text.begin(), text.end(), kCall), end; it != end; ++it) {
        places[(*it)[1]] = folder;
      }
    }
  }
  std::vector<Place> found;
  for (const auto& [name, folder] : places) found.push_back({name, folder});
  return found;
}

class Failpoints : public ::testing::TestWithParam<Place> {};

TEST_P(Failpoints, AKillThereLosesNothing) {
  const Place& place = GetParam();
  Cluster cluster;
  WriteText(cluster);
  cluster.StartCoordinator();
  const std::string run = cluster.Submit(FaultRun(2, kFailpointSteps));
  // A trainer can write only to its run's directory.
  const bool in_trainer = place.folder == "worker/engine";
  const std::string marker = in_trainer
                                 ? JoinPath(cluster.storage_root(), "runs/" + run + "/struck")
                                 : JoinPath(cluster.directory(), "struck");
  const std::vector<std::string> armed = {"GP_FAILPOINT=" + place.name + ":kill@2",
                                          "GP_FAILPOINT_ONCE=" + marker};
  const bool in_coordinator = place.folder == "coordinator";
  const std::vector<std::string> coordinator_environment =
      in_coordinator ? armed : std::vector<std::string>{};
  const WorkerSetup setup{.slots = 2,
                          .environment = in_coordinator ? std::vector<std::string>{} : armed,
                          .config = "trainer: {environment: [GP_FAILPOINT, GP_FAILPOINT_ONCE]}\n"};
  if (in_coordinator) {
    cluster.coordinator().Kill();
    cluster.StartCoordinator(coordinator_environment);
  }
  cluster.LaunchWorker("node-a", setup);
  // Restarts a program that died, as gpctl up and systemd do.
  v1::Run now;
  const bool ended = Eventually([&] {
    if (!cluster.coordinator().Running()) cluster.StartCoordinator(coordinator_environment);
    if (!cluster.worker("node-a").Running()) cluster.LaunchWorker("node-a", setup);
    now = cluster.Get(run);
    return IsTerminal(now.state());
  });
  ASSERT_TRUE(ended) << now.reason();
  EXPECT_EQ(now.state(), v1::RUN_STATE_SUCCEEDED) << now.reason();
  EXPECT_TRUE(FileExists(marker)) << "the failpoint was not passed twice";
  EXPECT_TRUE(FinalWeights(cluster, run) == UndisturbedWeights(kFailpointSteps));
}

INSTANTIATE_TEST_SUITE_P(Every, Failpoints, ::testing::ValuesIn(FindPlaces()),
                         [](const ::testing::TestParamInfo<Place>& place) {
                           std::string name = place.param.name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace gp::testing
