#include "base/local_message.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

class LocalMessageTest : public ::testing::Test {
 protected:
  LocalMessageTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    here_ = FileDescriptor(ends[0]);
    there_ = FileDescriptor(ends[1]);
  }

  FileDescriptor here_;
  FileDescriptor there_;
};

TEST_F(LocalMessageTest, CarriesBytesAndAnOpenFile) {
  const TemporaryDirectory directory;
  const FileDescriptor file(open(directory.File("file").c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_TRUE(SendLocalMessage(here_.get(), std::string("a\0b", 3), file.get()));
  ASSERT_TRUE(SendLocalMessage(here_.get(), "second"));
  const auto first = ReceiveLocalMessage(there_.get(), 16);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->bytes, std::string("a\0b", 3));
  ASSERT_TRUE(first->file.valid());
  EXPECT_TRUE(WriteAll(first->file.get(), "words", "file").ok());
  EXPECT_EQ(ReadFile(directory.File("file")).value(), "words");
  const auto second = ReceiveLocalMessage(there_.get(), 16);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->bytes, "second");
  EXPECT_FALSE(second->file.valid());
}

TEST_F(LocalMessageTest, IsNotTakenInPart) {
  ASSERT_TRUE(SendLocalMessage(here_.get(), "12345"));
  EXPECT_FALSE(ReceiveLocalMessage(there_.get(), 4).has_value());
}

TEST_F(LocalMessageTest, TellsThatThePeerIsGone) {
  there_.Close();
  EXPECT_FALSE(SendLocalMessage(here_.get(), "words"));
  EXPECT_FALSE(ReceiveLocalMessage(here_.get(), 16).has_value());
}

}  // namespace
}  // namespace gp
