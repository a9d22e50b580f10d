#include "worker/engine/trainer/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/temporary_directory.h"

namespace gp::engine {
namespace {

using ::testing::HasSubstr;

TEST(RunDirectory, IsRecognizedWhenItIsPutBackAndACopyIsNot) {
  const TemporaryDirectory storage;
  const std::string path = JoinPath(storage.path(), "run");
  const std::string aside = JoinPath(storage.path(), "aside");
  ASSERT_TRUE(MakeDirectory(path).ok());
  const RunDirectory directory(path);
  EXPECT_EQ(directory.Trouble(), "");
  std::filesystem::rename(path, aside);
  EXPECT_THAT(directory.Trouble(), HasSubstr(path + " was deleted or moved"));
  ASSERT_TRUE(MakeDirectory(path).ok());
  EXPECT_THAT(directory.Trouble(), HasSubstr(path + " was replaced by another directory"));
  std::filesystem::remove(path);
  std::filesystem::rename(aside, path);
  EXPECT_EQ(directory.Trouble(), "");
}

TEST(RunDirectory, ThatWasNeverThereIsNoTrouble) {
  const TemporaryDirectory storage;
  EXPECT_EQ(RunDirectory(JoinPath(storage.path(), "run")).Trouble(), "");
}

}  // namespace
}  // namespace gp::engine
