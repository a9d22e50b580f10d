#include "fakes/synced_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/check.h"

namespace gp::testing {
namespace {

std::atomic<SyncedDisk*> disk_in_use = nullptr;

std::string LinkTo(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

std::string PathOf(int fd) {
  std::error_code error;
  return std::filesystem::read_symlink(LinkTo(fd), error).string();
}

struct stat StatOf(int fd) {
  struct stat info {};
  GP_CHECK(fstat(fd, &info) == 0);
  return info;
}

// Reads through the given descriptor if it is readable: closing a second descriptor of the same
// file would release the process's locks on it, which SQLite relies on.
std::string ContentOf(int fd) {
  FileDescriptor again;
  if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) {
    again = FileDescriptor(open(LinkTo(fd).c_str(), O_RDONLY | O_CLOEXEC));
    fd = again.get();
  }
  std::string content;
  char buffer[1 << 16];
  for (ssize_t got = 1; got > 0;) {
    got = pread(fd, buffer, sizeof buffer, static_cast<off_t>(content.size()));
    GP_CHECK(got >= 0);
    content.append(buffer, static_cast<size_t>(got));
  }
  return content;
}

std::vector<std::string> NamesIn(int fd) { return ListDirectory(LinkTo(fd)).value(); }

}  // namespace

SyncedDisk::SyncedDisk(const std::string& root)
    : root_path_(std::filesystem::canonical(root).string()) {
  const FileDescriptor directory(open(root_path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  GP_CHECK(directory.valid());
  {
    MutexLock lock(mutex_);
    RecordTree(directory.get());
    root_ = Record(directory.get());
  }
  GP_CHECK(disk_in_use.exchange(this) == nullptr, "one SyncedDisk at a time");
}

SyncedDisk::~SyncedDisk() { disk_in_use = nullptr; }

SyncedDisk::Image SyncedDisk::Left() const {
  MutexLock lock(mutex_);
  Image image;
  AddTo(image, root_, "");
  return image;
}

void SyncedDisk::set_after_sync(AfterSync after_sync) {
  MutexLock lock(mutex_);
  after_sync_ = std::move(after_sync);
}

void SyncedDisk::Restore(const Image& image, const std::string& directory) {
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  for (const auto& [path, content] : image) {
    const std::string target = JoinPath(directory, path);
    if (path.ends_with('/')) {
      std::filesystem::create_directories(target);
    } else {
      const FileDescriptor file(open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644));
      GP_CHECK(file.valid() && WriteAll(file.get(), *content, target).ok());
    }
  }
}

int SyncedDisk::Sync(int fd, bool data_only) {
  SyncedDisk* const disk = disk_in_use;
  const std::string path = PathOf(fd);
  if (disk == nullptr || !(path + "/").starts_with(disk->root_path_ + "/")) {
    return static_cast<int>(syscall(data_only ? SYS_fdatasync : SYS_fsync, fd));
  }
  if (disk->FailsNow()) {
    errno = EIO;
    return -1;
  }
  disk->Note(fd);
  return 0;
}

void SyncedDisk::FailSyncs(int count) {
  MutexLock lock(mutex_);
  failures_left_ = count;
}

bool SyncedDisk::FailsNow() {
  MutexLock lock(mutex_);
  return failures_left_ > 0 && failures_left_-- > 0;
}

void SyncedDisk::Note(int fd) {
  Image left;
  AfterSync after_sync;
  {
    MutexLock lock(mutex_);
    Record(fd);
    after_sync = std::exchange(after_sync_, nullptr);
    if (!after_sync) return;
    AddTo(left, root_, "");
  }
  after_sync(left);
  MutexLock lock(mutex_);
  if (!after_sync_) after_sync_ = std::move(after_sync);
}

// Records the file or directory as synced in its current state.
SyncedDisk::Place SyncedDisk::Record(int fd) {
  const Place place = Hold(FileDescriptor(open(LinkTo(fd).c_str(), O_PATH | O_CLOEXEC)));
  if (!nodes_[place].is_directory) {
    nodes_[place].content = std::make_shared<const std::string>(ContentOf(fd));
    return place;
  }
  std::map<std::string, Place> entries;
  for (const std::string& name : NamesIn(fd)) {
    FileDescriptor entry(openat(fd, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    // Otherwise it was removed meanwhile.
    if (entry.valid()) entries[name] = Hold(std::move(entry));
  }
  nodes_[place].entries = std::move(entries);
  return place;
}

void SyncedDisk::RecordTree(int fd) {
  if (nodes_[Record(fd)].is_directory) {
    for (const std::string& name : NamesIn(fd)) {
      const FileDescriptor entry(openat(fd, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
      if (entry.valid()) RecordTree(entry.get());
    }
  }
}

SyncedDisk::Place SyncedDisk::Hold(FileDescriptor file) {
  const struct stat info = StatOf(file.get());
  const Place place{info.st_dev, info.st_ino};
  Node& node = nodes_[place];
  node.is_directory = S_ISDIR(info.st_mode);
  if (!node.held.valid()) node.held = std::move(file);
  return place;
}

void SyncedDisk::AddTo(Image& image, const Place& place, const std::string& path) const {
  static const auto kNothing = std::make_shared<const std::string>();
  const Node& node = nodes_.at(place);
  if (!node.is_directory) {
    image[path] = node.content == nullptr ? kNothing : node.content;
    return;
  }
  if (!path.empty()) image[path + "/"] = kNothing;
  for (const auto& [name, entry] : node.entries) {
    AddTo(image, entry, path.empty() ? name : path + "/" + name);
  }
}

}  // namespace gp::testing

extern "C" int fsync(int fd) { return gp::testing::SyncedDisk::Sync(fd, /*data_only=*/false); }
extern "C" int fdatasync(int fd) { return gp::testing::SyncedDisk::Sync(fd, /*data_only=*/true); }
