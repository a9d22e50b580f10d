#include "base/file_copy.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "lib/base/file_mode.h"
#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

TEST(FileCopy, HasTheSameBytesAndTheModeThatWasAskedFor) {
  const TemporaryDirectory directory;
  const std::string content(3'000'000, 'x');
  ASSERT_TRUE(WriteFileAtomically(directory.File("from"), content).ok());
  EXPECT_EQ(*CopyFile(directory.File("from"), directory.File("to"), 0600), content.size());
  EXPECT_EQ(*ReadFile(directory.File("to")), content);
  EXPECT_EQ(ModeOf(directory.File("to")), 0600);
}

TEST(FileCopy, ReplacesALongerFile) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(WriteFileAtomically(directory.File("from"), "short").ok());
  ASSERT_TRUE(WriteFileAtomically(directory.File("to"), "a longer text").ok());
  EXPECT_TRUE(CopyFile(directory.File("from"), directory.File("to"), 0600).ok());
  EXPECT_EQ(*ReadFile(directory.File("to")), "short");
}

TEST(FileCopy, NamesTheFileThatIsAbsent) {
  const TemporaryDirectory directory;
  const auto copied = CopyFile(directory.File("absent"), directory.File("to"), 0600);
  EXPECT_EQ(copied.status().code(), StatusCode::kNotFound);
  EXPECT_NE(Message(copied.status()).find("absent"), std::string::npos);
}

}  // namespace
}  // namespace gp
