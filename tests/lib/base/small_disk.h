// SmallDisk: a separate small file system (tmpfs), which a test can fill. Mounting one needs root:
// skip the test when it is not mounted. Not thread-safe.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "base/file.h"
#include "lib/base/eventually.h"

namespace gp {

class SmallDisk {
 public:
  // Makes the directory, too.
  SmallDisk(std::string path, const std::string& size) : path_(std::move(path)) {
    std::filesystem::create_directories(path_);
    mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, ("mode=755,size=" + size).c_str()) == 0;
    if (!mounted_) why_not_ = std::strerror(errno);
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
    std::filesystem::remove_all(path_);
  }

  const std::string& path() const { return path_; }
  bool mounted() const { return mounted_; }
  const std::string& why_not() const { return why_not_; }
  // Fills the free space; Unfill frees it again.
  void Fill() {
    const auto free = FreeBytes(path_);
    ASSERT_TRUE(free.ok());
    FileDescriptor file(open(filler().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    // The write fails at the first byte that does not fit.
    [[maybe_unused]] const Status status =
        WriteAll(file.get(), std::string(*free + 1, 'x'), filler());
  }
  void Unfill() { std::filesystem::remove(filler()); }
  // Retries, because the kernel refuses a read-only remount while a program has a file open for
  // writing; the coordinator has the run's files open just after a submit.
  bool Remount(unsigned long flags, const std::string& size) {
    return Eventually([&] {
      return mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT | flags, ("size=" + size).c_str()) ==
             0;
    });
  }

 private:
  std::string filler() const { return path_ + "/filler"; }

  const std::string path_;
  bool mounted_ = false;
  std::string why_not_;
};

}  // namespace gp
