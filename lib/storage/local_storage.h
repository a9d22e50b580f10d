// LocalStorage: Storage over a mounted file system, local or shared. Thread-safe: it is immutable.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "storage/storage.h"

namespace gp {

class LocalStorage : public Storage {
 public:
  // kRefused: Put, PutIfAbsent, List and Delete refuse a directory that is a symbolic link.
  // Otherwise a process that may write in one run's directory could put a link to another run's
  // files there.
  enum class Links { kFollowed, kRefused };

  explicit LocalStorage(Links links = Links::kFollowed) : links_(links) {}

  Status MakeDirectory(const std::string& directory) const override;
  StatusOr<std::unique_ptr<StorageWriter>> Create(const std::string& path) const override;
  Status Put(const std::string& path, std::string_view data) const override;
  Status PutIfAbsent(const std::string& path, std::string_view data) const override;
  StatusOr<std::string> Get(const std::string& path, uint64_t size_bytes_max) const override;
  Status Stream(const std::string& path,
                const std::function<Status(std::string_view)>& consume) const override;
  StatusOr<uint64_t> Size(const std::string& path) const override;
  StatusOr<std::vector<std::string>> List(const std::string& directory) const override;
  Status Delete(const std::string& path) const override;
  StatusOr<uint64_t> FreeBytes(const std::string& path) const override;

 private:
  const Links links_;
};

// The parts of LocalStorage for a process that gets its open files from another one.

// Creates a file and makes its name durable. Returns the same errors as Storage::Create.
StatusOr<FileDescriptor> CreateFile(const std::string& path);

// A writer for an open file that CreateFile made. Destroying it without Close removes `path` if
// this process has the permission.
std::unique_ptr<StorageWriter> WriterOf(FileDescriptor file, const std::string& path);

// Opens a file or a directory.
StatusOr<FileDescriptor> OpenToRead(const std::string& path);

// Calls `consume` with consecutive pieces of an open file.
Status StreamFile(const FileDescriptor& file, const std::string& path,
                  const std::function<Status(std::string_view)>& consume);

}  // namespace gp
