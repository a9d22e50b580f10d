// StorageSpace: the size and the free space of the file system of storage.root, read on a thread of
// its own, because a network file system may hang. Owned by the Agent. The destructor does not wait
// for a reading that hangs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace gp::agent {

struct DiskSpace {
  uint64_t bytes = 0;
  uint64_t free_bytes = 0;  // for an ordinary user
};

// Nullopt when the file system cannot be asked.
std::optional<DiskSpace> ReadDiskSpace(const std::string& path);

class StorageSpace {
 public:
  using Reader = std::function<std::optional<DiskSpace>(const std::string& path)>;

  explicit StorageSpace(const std::string& path,
                        std::chrono::nanoseconds interval = std::chrono::seconds(10),
                        Reader reader = ReadDiskSpace);
  ~StorageSpace();
  StorageSpace(const StorageSpace&) = delete;
  StorageSpace& operator=(const StorageSpace&) = delete;

  // The newest reading; nullopt when it is older than three intervals, or failed.
  std::optional<DiskSpace> Newest() const;

 private:
  struct Shared;

  // Shared with the thread, because a thread that hangs outlives this object.
  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace gp::agent
