// StorageSpace: the size and the free space of the file system of storage.root, read on a thread of
// its own, because a network file system may hang. Owned by the Agent. The destructor does not wait
// for a reading that hangs.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/file.h"
#include "base/status.h"

namespace gp::agent {

class StorageSpace {
 public:
  using Reader = std::function<StatusOr<FileSystemSpace>(const std::string& path)>;

  explicit StorageSpace(const std::string& path,
                        std::chrono::nanoseconds interval = std::chrono::seconds(10),
                        Reader reader = SpaceAt);
  ~StorageSpace();
  StorageSpace(const StorageSpace&) = delete;
  StorageSpace& operator=(const StorageSpace&) = delete;

  // The newest reading; nullopt when it is older than three intervals or failed, or when the file
  // system has no size, as that of a mount point of automount has none.
  std::optional<FileSystemSpace> Newest() const;

 private:
  struct Shared;

  // Shared with the thread, because a thread that hangs outlives this object.
  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace gp::agent
