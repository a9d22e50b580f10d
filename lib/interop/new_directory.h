// NewDirectory: a directory that appears under its name complete, or not at all. It is written
// under a temporary name beside it; Commit syncs the directory and renames it, otherwise the
// destructor removes it. A file that is written through File() must be synced by its writer. Used
// by one thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::interop {

class NewDirectory {
 public:
  // AlreadyExists if `path` exists and is not an empty directory.
  static StatusOr<NewDirectory> Begin(const std::string& path);
  NewDirectory(NewDirectory&& other) noexcept;
  NewDirectory& operator=(NewDirectory&&) = delete;
  ~NewDirectory();

  // Path for writing the file of that name before Commit.
  std::string File(const std::string& name) const;
  Status Write(const std::string& name, std::string_view text) const;

  Status Commit();

 private:
  NewDirectory(std::string path, std::string draft)
      : path_(std::move(path)), draft_(std::move(draft)) {}

  std::string path_;
  std::string draft_;  // empty once it is renamed
};

}  // namespace gp::interop
