// SyncedDisk: the content of a directory after a power failure at this moment: each file as of its
// last fsync or fdatasync, under the names that existed at the last fsync of its directory.
// Anything written, created, renamed or removed since is lost, the worst case that POSIX allows. A
// program that links it gets its own fsync and fdatasync, which only record; libraries such as
// SQLite call them too. One at a time in a process; thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/file.h"
#include "base/mutex.h"

namespace gp::testing {

class SyncedDisk {
 public:
  // Files by path below the root, with their content; directories end in '/'.
  using Image = std::map<std::string, std::shared_ptr<const std::string>>;

  // The content below `root` counts as synced from now on.
  explicit SyncedDisk(const std::string& root);
  ~SyncedDisk();
  SyncedDisk(const SyncedDisk&) = delete;
  SyncedDisk& operator=(const SyncedDisk&) = delete;

  // What a power loss would leave.
  Image Left() const EXCLUDES(mutex_);

  // Called after each sync below the root, on the thread that synced, with what a power loss would
  // leave then. Not called while it runs.
  using AfterSync = std::function<void(const Image& left)>;
  void set_after_sync(AfterSync after_sync) EXCLUDES(mutex_);

  // The next `count` syncs below the root fail.
  void FailSyncs(int count) EXCLUDES(mutex_);

  // Makes `directory` equal to the image.
  static void Restore(const Image& image, const std::string& directory);

  // The implementation of fsync and fdatasync.
  static int Sync(int fd, bool data_only);

 private:
  // A file or a directory, by its inode number, which is not reused while it is held.
  struct Place {
    uint64_t device = 0;
    uint64_t inode = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Node {
    FileDescriptor held;
    bool is_directory = false;
    std::shared_ptr<const std::string> content;  // null: never synced
    std::map<std::string, Place> entries;        // a directory's entries, as synced
  };

  bool FailsNow() EXCLUDES(mutex_);
  void Note(int fd) EXCLUDES(mutex_);
  Place Record(int fd) REQUIRES(mutex_);
  void RecordTree(int fd) REQUIRES(mutex_);
  Place Hold(FileDescriptor file) REQUIRES(mutex_);
  void AddTo(Image& image, const Place& place, const std::string& path) const REQUIRES(mutex_);

  const std::string root_path_;  // without symbolic links
  mutable Mutex mutex_;
  std::map<Place, Node> nodes_ GUARDED_BY(mutex_);
  Place root_ GUARDED_BY(mutex_);
  AfterSync after_sync_ GUARDED_BY(mutex_);
  int failures_left_ GUARDED_BY(mutex_) = 0;
};

}  // namespace gp::testing
