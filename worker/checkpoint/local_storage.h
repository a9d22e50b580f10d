// LocalStorage: Storage over a mounted file system, local or shared. Thread-safe: it has no state.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"
#include "worker/checkpoint/storage.h"

namespace gp::engine {

class LocalStorage : public Storage {
 public:
  Status MakeDirectory(const std::string& directory) override;
  StatusOr<std::unique_ptr<StorageWriter>> Create(const std::string& path) override;
  Status WriteAtomically(const std::string& path, std::string_view data) override;
  StatusOr<std::string> Read(const std::string& path, uint64_t size_bytes_max) override;
  Status Stream(const std::string& path,
                const std::function<Status(std::string_view)>& consume) override;
  Status RemoveTree(const std::string& path) override;
  StatusOr<uint64_t> FreeBytes(const std::string& path) override;
};

// A new file, whose name is durable. Fails as Storage::Create does.
StatusOr<FileDescriptor> CreateFile(const std::string& path);

// Writes an open file that CreateFile made. Discarding it removes `path` where this process may.
std::unique_ptr<StorageWriter> WriterOf(FileDescriptor file, const std::string& path);

// Calls `consume` with consecutive pieces of an open file.
Status StreamFile(const FileDescriptor& file, const std::string& path,
                  const std::function<Status(std::string_view)>& consume);

}  // namespace gp::engine
