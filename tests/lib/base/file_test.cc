#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

// While the object lives, no process can write a file beyond `bytes`: makes a write fail without a
// full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ignored_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, ignored_);
  }

 private:
  rlimit before_{};
  void (*ignored_)(int);
};

TEST(File, WritesAndReadsBackEveryByte) {
  TemporaryDirectory directory;
  std::string data = "first\0second\n";
  data += std::string(200'000, '\xfe');
  ASSERT_TRUE(WriteFileAtomically(directory.File("a"), data).ok());
  EXPECT_EQ(ReadFile(directory.File("a")).value(), data);
  EXPECT_EQ(FileSize(directory.File("a")).value(), data.size());
}

TEST(File, ReplacesTheOldContentAndLeavesNothingBeside) {
  TemporaryDirectory directory;
  ASSERT_TRUE(WriteFileAtomically(directory.File("a"), "a longer old content").ok());
  ASSERT_TRUE(WriteFileAtomically(directory.File("a"), "new").ok());
  EXPECT_EQ(ReadFile(directory.File("a")).value(), "new");
  EXPECT_EQ(ListDirectory(directory.path()).value(), std::vector<std::string>{"a"});
}

TEST(File, IsNotReplacedByAWriteForAnAbsentOne) {
  TemporaryDirectory directory;
  ASSERT_TRUE(WriteFileIfAbsent(directory.File("a"), "first").ok());
  const Status refused = WriteFileIfAbsent(directory.File("a"), "second");
  EXPECT_EQ(refused.code(), StatusCode::kAlreadyExists);
  EXPECT_NE(Message(refused).find(directory.File("a")), std::string::npos) << refused;
  EXPECT_EQ(ReadFile(directory.File("a")).value(), "first");
  EXPECT_EQ(ListDirectory(directory.path()).value(), std::vector<std::string>{"a"});
}

TEST(File, AWriteThatFailsHalfwayLeavesTheOldContentAndNoTemporaryFile) {
  TemporaryDirectory directory;
  ASSERT_TRUE(WriteFileAtomically(directory.File("a"), "old").ok());
  Status status;
  {
    const FileSizeLimit limit(4096);
    status = WriteFileAtomically(directory.File("a"), std::string(100'000, 'x'));
  }
  EXPECT_FALSE(status.ok());
  EXPECT_NE(Message(status).find(directory.File("a")), std::string::npos) << status;
  EXPECT_EQ(ReadFile(directory.File("a")).value(), "old");
  EXPECT_EQ(ListDirectory(directory.path()).value(), std::vector<std::string>{"a"});
}

TEST(File, ARenameThatFailsLeavesNoTemporaryFile) {
  TemporaryDirectory directory;
  ASSERT_TRUE(MakeDirectories(directory.File("a/b")).ok());
  EXPECT_FALSE(WriteFileAtomically(directory.File("a"), "a directory is in the way").ok());
  EXPECT_EQ(ListDirectory(directory.path()).value(), std::vector<std::string>{"a"});
}

TEST(File, WritesWithTheModeAskedFor) {
  TemporaryDirectory directory;
  ASSERT_TRUE(WriteFileAtomically(directory.File("secret"), "x", 0600).ok());
  struct stat info {};
  ASSERT_EQ(stat(directory.File("secret").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(File, WritingNamesThePathAndNotATemporaryFile) {
  EXPECT_EQ(Message(WriteFileAtomically("/nonexistent/a", "x")),
            "create /nonexistent/a: No such file or directory");
}

TEST(File, ReadingNamesThePathAndTheReason) {
  TemporaryDirectory directory;
  const Status missing = ReadFile(directory.File("none")).status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_NE(Message(missing).find(directory.File("none")), std::string::npos);
  EXPECT_EQ(ReadFile(directory.path()).status().code(), StatusCode::kInvalidArgument);
}

TEST(File, RefusesToReadMoreThanTheLimit) {
  TemporaryDirectory directory;
  ASSERT_TRUE(WriteFileAtomically(directory.File("a"), "12345").ok());
  EXPECT_TRUE(ReadFile(directory.File("a"), 5).ok());
  EXPECT_EQ(ReadFile(directory.File("a"), 4).status().code(), StatusCode::kResourceExhausted);
  // A device reports size 0, but reading it never ends.
  EXPECT_EQ(ReadFile("/dev/zero", 1 << 20).status().code(), StatusCode::kResourceExhausted);
}

TEST(File, MakesDirectoriesOnceAndRefusesAFileInTheWay) {
  TemporaryDirectory directory;
  EXPECT_TRUE(MakeDirectories(directory.File("a/b/c")).ok());
  EXPECT_TRUE(MakeDirectories(directory.File("a/b/c")).ok());
  ASSERT_TRUE(WriteFileAtomically(directory.File("file"), "").ok());
  EXPECT_FALSE(MakeDirectories(directory.File("file")).ok());
  EXPECT_FALSE(MakeDirectories(directory.File("file/below")).ok());
}

TEST(File, RemovesATreeButNotWhatALinkPointsTo) {
  TemporaryDirectory directory;
  ASSERT_TRUE(MakeDirectories(directory.File("kept")).ok());
  ASSERT_TRUE(WriteFileAtomically(directory.File("kept/a"), "a").ok());
  ASSERT_TRUE(MakeDirectories(directory.File("gone/deep")).ok());
  ASSERT_EQ(symlink(directory.File("kept").c_str(), directory.File("gone/link").c_str()), 0);
  EXPECT_TRUE(RemoveTree(directory.File("gone")).ok());
  EXPECT_TRUE(RemoveTree(directory.File("gone")).ok());
  EXPECT_FALSE(FileExists(directory.File("gone")));
  EXPECT_TRUE(FileExists(directory.File("kept/a")));
}

TEST(File, ListsSortedWithoutTheDots) {
  TemporaryDirectory directory;
  for (const char* name : {"b", ".hidden", "a"}) {
    ASSERT_TRUE(WriteFileAtomically(directory.File(name), "").ok());
  }
  EXPECT_EQ(ListDirectory(directory.path()).value(),
            (std::vector<std::string>{".hidden", "a", "b"}));
  EXPECT_EQ(ListDirectory(directory.File("none")).status().code(), StatusCode::kNotFound);
}

TEST(File, JoinsFoldsAndSplitsPaths) {
  EXPECT_EQ(JoinPath("/a", "b"), "/a/b");
  EXPECT_EQ(JoinPath("/a/", "b"), "/a/b");
  EXPECT_EQ(JoinPath("/a", "/b"), "/b");
  EXPECT_EQ(AbsolutePath("x/../y.txt", "/base/./dir"), "/base/dir/y.txt");
  EXPECT_EQ(AbsolutePath("/x", "/base"), "/x");
  EXPECT_EQ(DirectoryOf("/a/b"), "/a");
  EXPECT_EQ(DirectoryOf("b"), ".");
  EXPECT_EQ(BaseNameOf("/a/b.txt"), "b.txt");
}

TEST(File, AFileDescriptorClosesOnceAndMoves) {
  int raw = -1;
  {
    FileDescriptor first(open("/dev/null", O_RDONLY | O_CLOEXEC));
    raw = first.get();
    FileDescriptor second(std::move(first));
    FileDescriptor third;
    third = std::move(second);
    EXPECT_FALSE(second.valid());
    EXPECT_EQ(third.get(), raw);
    EXPECT_NE(fcntl(raw, F_GETFD), -1);
  }
  EXPECT_EQ(fcntl(raw, F_GETFD), -1);
}

TEST(File, WritesAllOfWhatAPipeTakesInPieces) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);
  reader.Close();
  signal(SIGPIPE, SIG_IGN);
  const Status status = WriteAll(writer.get(), "nobody listens", "a pipe");
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(Message(status).find("a pipe"), std::string::npos);
}

TEST(File, FreeBytesOfAPathThatIsThere) {
  TemporaryDirectory directory;
  EXPECT_GT(FreeBytes(directory.path()).value(), 0u);
  EXPECT_EQ(FreeBytes(directory.File("none")).status().code(), StatusCode::kNotFound);
  const auto space = SpaceAt(directory.path());
  ASSERT_TRUE(space.ok()) << space.status();
  EXPECT_GT(space->total_bytes, 0u);
  EXPECT_LE(space->free_bytes, space->total_bytes);
}

}  // namespace
}  // namespace gp
