#include "worker/trainer/run_storage.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "lib/base/temporary_directory.h"
#include "lib/storage/storage_contract.h"
#include "storage/local_storage.h"

namespace gp::engine {
namespace {

class CountingBroker : public LocalStorage {
 public:
  Status MakeDirectory(const std::string& directory) const override {
    ++asked;
    return LocalStorage::MakeDirectory(directory);
  }

  mutable int asked = 0;
};

class RunStorageTest : public ::testing::Test {
 protected:
  RunStorageTest() {
    EXPECT_TRUE(MakeDirectory(run_).ok());
    storage_ = std::make_unique<RunStorage>(run_, broker_);
  }

  // Whether opening the run's directory goes through the broker.
  bool AsksTheBroker() {
    const int before = broker_->asked;
    storage_->MakeDirectory(JoinPath(run_, "checkpoints")).IgnoreError();
    return broker_->asked > before;
  }

  TemporaryDirectory directory_;
  const std::string run_ = directory_.File("run");
  const std::string aside_ = directory_.File("aside");
  const std::shared_ptr<CountingBroker> broker_ = std::make_shared<CountingBroker>();
  std::unique_ptr<RunStorage> storage_;
};

TEST_F(RunStorageTest, AsksTheBrokerWhenTheDirectoryWasDeletedOrReplaced) {
  EXPECT_FALSE(AsksTheBroker());
  ASSERT_TRUE(RemoveTree(run_).ok());
  EXPECT_TRUE(AsksTheBroker());
  ASSERT_TRUE(MakeDirectory(run_).ok());
  EXPECT_TRUE(AsksTheBroker());
}

TEST_F(RunStorageTest, WaitsForADirectoryThatWasMovedAwayUntilTheLastSave) {
  std::filesystem::rename(run_, aside_);
  EXPECT_FALSE(AsksTheBroker());
  std::filesystem::rename(aside_, run_);
  EXPECT_FALSE(AsksTheBroker());
  std::filesystem::rename(run_, aside_);
  storage_->BeginLastSave();
  EXPECT_TRUE(AsksTheBroker());
}

TEST_F(RunStorageTest, WithoutABrokerReachesEveryDirectoryItself) {
  storage_ = std::make_unique<RunStorage>(run_, nullptr);
  ASSERT_TRUE(RemoveTree(run_).ok());
  EXPECT_TRUE(storage_->MakeDirectory(run_).ok());
  EXPECT_TRUE(FileExists(run_));
}

INSTANTIATE_TEST_SUITE_P(RunStorage, StorageContract,
                         ::testing::Values([](const std::string& directory) {
                           return std::make_shared<RunStorage>(directory, nullptr);
                         }));

}  // namespace
}  // namespace gp::engine
