// Goal: all appended bytes are in the file, whatever its size and however the file system treats
// direct writes (O_DIRECT). This program replaces write(2), so that it can refuse or shorten them.
#include "storage/local_storage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>

#include "base/file.h"
#include "lib/base/temporary_directory.h"
#include "lib/storage/storage_contract.h"

namespace {

enum class DirectWrites { kDone, kRefused, kCutShort, kDiskFull };

std::atomic<DirectWrites> direct_writes = DirectWrites::kDone;
std::atomic<int> direct_write_count = 0;

bool IsDirect(int fd) { return (fcntl(fd, F_GETFL) & O_DIRECT) != 0; }

}  // namespace

extern "C" ssize_t write(int fd, const void* data, size_t size) {
  if (IsDirect(fd)) {
    ++direct_write_count;
    switch (direct_writes.load()) {
      case DirectWrites::kDone:
        break;
      case DirectWrites::kRefused:
        errno = EINVAL;
        return -1;
      case DirectWrites::kCutShort: {
        // After a short write, the next one would not be aligned as the kernel requires.
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_DIRECT);
        const auto written = syscall(SYS_write, fd, data, std::min<size_t>(size, 1000));
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_DIRECT);
        direct_writes = DirectWrites::kRefused;
        return written;
      }
      case DirectWrites::kDiskFull:
        errno = ENOSPC;
        return -1;
    }
  }
  return syscall(SYS_write, fd, data, size);
}

namespace gp {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

std::string Text(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 2654435761u >> 13);
  return text;
}

class LocalStorageTest : public ::testing::TestWithParam<DirectWrites> {
 protected:
  void SetUp() override {
    direct_writes = GetParam();
    direct_write_count = 0;
  }
  void TearDown() override { direct_writes = DirectWrites::kDone; }

  Status Save(const std::string& text, size_t piece_bytes) {
    ASSIGN_OR_RETURN(auto writer, storage_.Create(path_));
    for (size_t at = 0; at < text.size(); at += piece_bytes) {
      RETURN_IF_ERROR(writer->Append(std::string_view(text).substr(at, piece_bytes)));
    }
    return writer->Close();
  }

  TemporaryDirectory directory_;
  LocalStorage storage_;
  const std::string path_ = JoinPath(directory_.path(), "file");
};

TEST_P(LocalStorageTest, HoldsWhatWasAppended) {
  for (const size_t size : {size_t{0}, size_t{1}, 4 * kMiB - 1, 4 * kMiB, 4 * kMiB + 1,
                            8 * kMiB + 4096, 9 * kMiB + 123}) {
    direct_writes = GetParam();
    const std::string text = Text(size);
    ASSERT_TRUE(Save(text, 3 * kMiB + 17).ok()) << size;
    ASSERT_TRUE(ReadFile(path_).value() == text) << size;
    ASSERT_TRUE(RemoveTree(path_).ok());
  }
}

int DirectWritesMost(DirectWrites kind) {
  switch (kind) {
    case DirectWrites::kDone:
      return 4;  // one per piece
    case DirectWrites::kRefused:
      return 1;
    default:
      return 2;  // the short write, and the one for the rest
  }
}

TEST_P(LocalStorageTest, DoesNotAskAgainForWhatWasRefused) {
  ASSERT_TRUE(Save(Text(16 * kMiB), 16 * kMiB).ok());
  EXPECT_LE(direct_write_count, DirectWritesMost(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(FileSystems, LocalStorageTest,
                         ::testing::Values(DirectWrites::kDone, DirectWrites::kRefused,
                                           DirectWrites::kCutShort));

using LocalStorageFull = LocalStorageTest;

TEST_P(LocalStorageFull, NamesTheFileAndTheWayOut) {
  const Status saved = Save(Text(5 * kMiB), kMiB);
  // Without O_DIRECT, the write that fails here is never made.
  if (direct_write_count == 0) GTEST_SKIP() << "no O_DIRECT on the file system of " << path_;
  EXPECT_EQ(saved.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(Message(saved).find(path_), std::string::npos) << Message(saved);
  EXPECT_NE(Message(saved).find("free space"), std::string::npos) << Message(saved);
  EXPECT_FALSE(FileExists(path_));
}

INSTANTIATE_TEST_SUITE_P(Disk, LocalStorageFull, ::testing::Values(DirectWrites::kDiskFull));

MakeStorage With(LocalStorage::Links links) {
  return [links](const std::string&) { return std::make_shared<LocalStorage>(links); };
}

INSTANTIATE_TEST_SUITE_P(LocalStorage, StorageContract,
                         ::testing::Values(With(LocalStorage::Links::kFollowed),
                                           With(LocalStorage::Links::kRefused)));

TEST(LocalStorageLinks, AreFollowedOrRefusedByWhatChangesOrLists) {
  const TemporaryDirectory directory;
  const std::string real = directory.File("real"), link = directory.File("link");
  ASSERT_TRUE(MakeDirectory(real).ok());
  ASSERT_EQ(symlink(real.c_str(), link.c_str()), 0);
  const LocalStorage refuses(LocalStorage::Links::kRefused), follows;
  ASSERT_TRUE(follows.Put(JoinPath(link, "a"), "x").ok());
  EXPECT_EQ(refuses.Put(JoinPath(link, "a"), "y").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refuses.PutIfAbsent(JoinPath(link, "b"), "y").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refuses.List(link).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refuses.Delete(JoinPath(link, "a")).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadFile(JoinPath(real, "a")).value(), "x");
  EXPECT_TRUE(refuses.Delete(link).ok()) << "removes the link itself";
  EXPECT_EQ(follows.List(real).value(), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace gp
