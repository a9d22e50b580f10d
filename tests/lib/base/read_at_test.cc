#include "base/read_at.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

class ReadAtTest : public ::testing::Test {
 protected:
  ReadAtTest() { EXPECT_TRUE(WriteFileAtomically(path_, "0123456789").ok()); }

  std::string Read(int flags, uint64_t offset, size_t size) {
    const FileDescriptor file(open(path_.c_str(), flags | O_CLOEXEC));
    std::string bytes(size, '-');
    const auto got = ReadAt(file.get(), offset, bytes, path_);
    if (!got.ok()) return Message(got.status());
    EXPECT_LE(*got, size);
    return bytes;
  }

  const TemporaryDirectory directory_;
  const std::string path_ = JoinPath(directory_.path(), "digits");
};

TEST_F(ReadAtTest, FillsWhatWasAskedFor) { EXPECT_EQ(Read(O_RDONLY, 3, 4), "3456"); }

TEST_F(ReadAtTest, ReadsLessWhereTheFileEnds) {
  EXPECT_EQ(Read(O_RDONLY, 8, 4), "89--");
  EXPECT_EQ(Read(O_RDONLY, 12, 2), "--");
}

TEST_F(ReadAtTest, NamesTheFileThatCannotBeRead) {
  EXPECT_NE(Read(O_WRONLY, 0, 4).find(path_), std::string::npos);
}

}  // namespace
}  // namespace gp
