// SyncedDisk: what a directory would contain after a power failure now: each file as of its last
// fsync or fdatasync, under the names that existed at the last fsync of its directory. Anything
// written, created, renamed or removed since then is lost, the worst case that POSIX allows. In a
// program that links it, fsync and fdatasync only record; libraries such as SQLite call these too.
// At most one object per process at a time; thread-safe.
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
  // {path below the root: content}; the paths of directories end in '/'.
  using Image = std::map<std::string, std::shared_ptr<const std::string>>;

  // Treats the current content below `root` as synced.
  explicit SyncedDisk(const std::string& root);
  ~SyncedDisk();
  SyncedDisk(const SyncedDisk&) = delete;
  SyncedDisk& operator=(const SyncedDisk&) = delete;

  // The content that a power loss now would leave.
  Image Left() const EXCLUDES(mutex_);

  // Called after each sync below the root, on the thread that synced, with the content that a power
  // loss would then leave. Not called recursively.
  using AfterSync = std::function<void(const Image& left)>;
  void set_after_sync(AfterSync after_sync) EXCLUDES(mutex_);

  // Makes the next `count` syncs below the root fail.
  void FailSyncs(int count) EXCLUDES(mutex_);

  // Makes `directory` equal to the image.
  static void Restore(const Image& image, const std::string& directory);

  // The implementation of fsync and fdatasync.
  static int Sync(int fd, bool data_only);

 private:
  // A file or directory, identified by its inode number, which is not reused while it is held open.
  struct Place {
    uint64_t device = 0;
    uint64_t inode = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Node {
    FileDescriptor held;
    bool is_directory = false;
    std::shared_ptr<const std::string> content;  // null: never synced
    std::map<std::string, Place> entries;        // of a directory, as of its last sync
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
