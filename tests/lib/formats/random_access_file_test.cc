#include "formats/random_access_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::formats {
namespace {

using ::testing::HasSubstr;

class RandomAccessFileTest : public ::testing::Test {
 protected:
  RandomAccessFileTest() { EXPECT_TRUE(WriteFileAtomically(path_, "0123456789").ok()); }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.File("digits");
};

TEST_F(RandomAccessFileTest, ReadsAtOffsets) {
  const auto file = RandomAccessFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->size_bytes(), 10u);
  std::string bytes(4, '-');
  EXPECT_TRUE(file->Read(6, bytes).ok());
  EXPECT_EQ(bytes, "6789");
}

TEST_F(RandomAccessFileTest, AFileThatBecameShorterIsAnErrorWithItsEnd) {
  const auto file = RandomAccessFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  std::filesystem::resize_file(path_, 7);
  std::string bytes(4, '-');
  const Status status = file->Read(5, bytes);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("ends at byte 7, expected data up to byte 9"));
}

TEST_F(RandomAccessFileTest, OpensRegularFilesAlone) {
  EXPECT_EQ(RandomAccessFile::Open(directory_.File("none")).status().code(), StatusCode::kNotFound);
  ASSERT_EQ(mkfifo(directory_.File("pipe").c_str(), 0600), 0);
  for (const std::string& path : {directory_.path(), directory_.File("pipe")}) {
    EXPECT_THAT(Message(RandomAccessFile::Open(path).status()),
                HasSubstr(path + " is not a regular file"));
  }
}

}  // namespace
}  // namespace gp::formats
