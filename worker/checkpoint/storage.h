// Storage: all access to checkpoint bytes goes through this interface, so that an object store can
// replace the shared file system. A checkpoint's files are written under a name that only its
// writer uses. Nobody reads them before the manifest is committed. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::engine {

// One file being written. Destroying it without Close discards it.
class StorageWriter {
 public:
  virtual ~StorageWriter() = default;
  // Appends; the bytes may be written with later ones. ResourceExhausted when the disk is full; the
  // message names the path and tells what to do.
  virtual Status Append(std::string_view data) = 0;
  // Writes what is left and makes the bytes durable; fails as Append does. Nothing can be appended
  // after it.
  virtual Status Close() = 0;
};

class Storage {
 public:
  virtual ~Storage() = default;

  // Creates `directory` in an existing one, durable on return. OK if it exists.
  virtual Status MakeDirectory(const std::string& directory) = 0;
  virtual StatusOr<std::unique_ptr<StorageWriter>> Create(const std::string& path) = 0;
  // Replaces a small file atomically and durably. It commits a manifest.
  virtual Status WriteAtomically(const std::string& path, std::string_view data) = 0;
  virtual StatusOr<std::string> Read(const std::string& path, uint64_t size_bytes_max) = 0;
  // Calls `consume` with consecutive pieces of the file.
  virtual Status Stream(const std::string& path,
                        const std::function<Status(std::string_view)>& consume) = 0;
  virtual Status RemoveTree(const std::string& path) = 0;
  virtual StatusOr<uint64_t> FreeBytes(const std::string& path) = 0;
};

}  // namespace gp::engine
