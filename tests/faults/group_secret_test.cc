// Training on two nodes stores the group's secret nowhere. The test derives it from the key and the
// stored nonce, and searches for it in everything that the programs wrote.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "coordinator/service/group_key.h"
#include "coordinator/store/sqlite_store.h"
#include "faults/fault_run.h"

namespace gp::testing {
namespace {

// The secret as hexadecimal digits, the form used between programs, and as bytes.
std::vector<std::string> SpellingsOf(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return {hex, bytes};
}

std::vector<std::string> SecretsOf(const std::string& state_dir) {
  const auto key = coordinator::GroupKey::Open(state_dir + "/security/group.key");
  const auto store = coordinator::SqliteStore::Open(state_dir);
  EXPECT_TRUE(key.ok() && store.ok()) << key.status() << store.status();
  std::vector<std::string> secrets;
  const Status loaded = (*store)->Load([&](const coordinator::StoredEvent& stored) {
    const auto* ready = std::get_if<coordinator::RunGroupReady>(&stored.event.body);
    if (ready == nullptr) return;
    EXPECT_EQ(ready->nonce.size(), 64u);
    const auto secret = key->SecretOf(stored.event.run, ready->epoch, ready->nonce);
    for (const std::string& spelling : SpellingsOf(secret)) secrets.push_back(spelling);
  });
  EXPECT_TRUE(loaded.ok()) << loaded;
  return secrets;
}

TEST(GroupSecret, IsInNoFileThatATrainingLeaves) {
  Cluster cluster;
  WriteText(cluster);
  cluster.StartCoordinator();
  cluster.StartWorker("node-a", NodeWith(cluster, 1, RankDevice::kCpu));
  cluster.StartWorker("node-b", NodeWith(cluster, 1, RankDevice::kCpu));
  const std::string run = cluster.Submit(FaultRun(2, 20));
  const v1::Run end = cluster.WaitForEnd(run);
  ASSERT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  for (const char* worker : {"node-a", "node-b"}) cluster.worker(worker).Kill();
  cluster.coordinator().Kill();

  const std::string state = cluster.directory() + "/coordinator";
  // Read all files before this test opens the databases, so that SQLite's journals are still there.
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cluster.directory())) {
    if (entry.is_regular_file()) files[entry.path()] = ReadFile(entry.path()).value();
  }
  EXPECT_GT(files.size(), 12u);
  EXPECT_TRUE(files.contains(state + "/gp.db-wal"));
  const auto secrets = SecretsOf(state);
  ASSERT_EQ(secrets.size(), 2u) << "one group, spelled in two ways";
  for (const auto& [path, content] : files) {
    for (const std::string& secret : secrets) {
      EXPECT_EQ(content.find(secret), std::string::npos) << path;
    }
  }
}

}  // namespace
}  // namespace gp::testing
