#include "client/gpctl/service/service_directory.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/gpctl/service/service_fixture.h"

namespace gp::gpctl {
namespace {

class ServiceDirectoryTest : public ServiceFixture {};

TEST_F(ServiceDirectoryTest, UpClosesItsDirectoryToOtherUsers) {
  std::filesystem::create_directory(directory_.root());
  std::filesystem::permissions(directory_.root(), std::filesystem::perms::all);
  ASSERT_TRUE(directory_.Create().ok());
  EXPECT_FALSE(OthersMay(directory_.root()));
}

TEST_F(ServiceDirectoryTest, ARecordOfAnOlderVersionHasNoIdentityOfItsStorage) {
  ASSERT_TRUE(directory_.Create().ok());
  ASSERT_TRUE(directory_.Save({.address = "127.0.0.1:1", .storage_identity = "x"}).ok());
  const std::string path = directory_.Path("service.json");
  auto json = nlohmann::json::parse(*ReadFile(path));
  for (const char* key : {"storage_identity", "data_roots", "monitoring_problem"})
    ASSERT_EQ(json.erase(key), 1u) << key;
  std::ofstream(path) << json.dump();
  const auto record = directory_.Load();
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->storage_identity, "");
}

TEST_F(ServiceDirectoryTest, AStorageInItMovesWithIt) {
  ASSERT_TRUE(directory_.Create().ok());
  const auto loaded = [&](const std::string& before, const std::string& storage) {
    const ServiceRecord record{.address = "unix:" + before + "/coordinator.sock",
                               .storage_root = storage};
    EXPECT_TRUE(directory_.Save(record).ok());
    return directory_.Load()->storage_root;
  };
  EXPECT_EQ(loaded("/home/old/gp", "/home/old/gp/storage"), directory_.root() + "/storage");
  EXPECT_EQ(loaded("/home/old/gp", "/home/old/gp2"), "/home/old/gp2");
  EXPECT_EQ(loaded(directory_.root(), directory_.root() + "/storage"), directory_.Storage());
}

TEST_F(ServiceDirectoryTest, ADirectoryIsSupervisedOnce) {
  ASSERT_TRUE(directory_.Create().ok());
  const auto lock = directory_.Lock();
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(directory_.Lock().status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(ServiceDirectoryTest, ADamagedRecordIsToldNotTrusted) {
  ASSERT_TRUE(directory_.Create().ok());
  ASSERT_TRUE(directory_.Save({.address = "127.0.0.1:1", .workers = 2}).ok());
  const std::string path = directory_.Path("service.json");
  const std::string text = *ReadFile(path);
  for (size_t size = 0; size < text.size() - 2; ++size) {
    std::ofstream(path, std::ios::trunc) << text.substr(0, size);
    EXPECT_EQ(directory_.Load().status().code(), StatusCode::kDataLoss) << size;
  }
}

}  // namespace
}  // namespace gp::gpctl
