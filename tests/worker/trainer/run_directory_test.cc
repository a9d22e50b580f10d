#include "worker/trainer/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::engine {
namespace {

using ::testing::HasSubstr;

const Status kDenied = ErrnoStatus(EACCES, "create", "manifest.json");

TEST(RunDirectory, IsRecognizedWhenItIsPutBackAndACopyIsNot) {
  const TemporaryDirectory storage;
  const std::string path = JoinPath(storage.path(), "run");
  const std::string aside = JoinPath(storage.path(), "aside");
  ASSERT_TRUE(MakeDirectory(path).ok());
  const RunDirectory directory(path);
  EXPECT_EQ(directory.Trouble(kDenied), "");
  std::filesystem::rename(path, aside);
  EXPECT_THAT(directory.Trouble(kDenied), HasSubstr(path + " was deleted or moved"));
  ASSERT_TRUE(MakeDirectory(path).ok());
  EXPECT_THAT(directory.Trouble(kDenied), HasSubstr(path + " was replaced by another directory"));
  std::filesystem::remove(path);
  std::filesystem::rename(aside, path);
  EXPECT_EQ(directory.Trouble(kDenied), "");
}

TEST(RunDirectory, ThatWasDeletedIsNotTakenForOneThatWasMoved) {
  using Place = RunDirectory::Place;
  const TemporaryDirectory storage;
  const std::string path = JoinPath(storage.path(), "run");
  const std::string aside = JoinPath(storage.path(), "aside");
  ASSERT_TRUE(MakeDirectory(path).ok());
  const RunDirectory directory(path);
  EXPECT_EQ(directory.Find(), Place::kThere);
  std::filesystem::rename(path, aside);
  EXPECT_EQ(directory.Find(), Place::kMoved);
  std::filesystem::remove(aside);
  EXPECT_EQ(directory.Find(), Place::kDeleted);
  ASSERT_TRUE(MakeDirectory(path).ok());
  EXPECT_EQ(directory.Find(), Place::kReplaced) << "the new one may have the number of the old one";
}

TEST(RunDirectory, ThatWasReplacedIsNoReasonForEveryFailure) {
  const TemporaryDirectory storage;
  const std::string path = JoinPath(storage.path(), "run");
  ASSERT_TRUE(MakeDirectory(path).ok());
  const RunDirectory directory(path);
  std::filesystem::rename(path, JoinPath(storage.path(), "aside"));
  ASSERT_TRUE(MakeDirectory(path).ok());
  for (const int error : {ENOSPC, EDQUOT, EIO, EMFILE}) {
    EXPECT_EQ(directory.Trouble(ErrnoStatus(error, "write", path)), "") << strerror(error);
  }
  for (const int error : {ENOENT, EACCES}) {
    EXPECT_THAT(directory.Trouble(ErrnoStatus(error, "write", path)), HasSubstr("was replaced"));
  }
}

TEST(RunDirectory, ThatWasNeverThereIsNoTrouble) {
  const TemporaryDirectory storage;
  EXPECT_EQ(RunDirectory(JoinPath(storage.path(), "run")).Trouble(kDenied), "");
}

}  // namespace
}  // namespace gp::engine
