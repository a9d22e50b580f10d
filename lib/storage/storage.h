// Storage: where the files of runs and their checkpoints are kept. All programs reach them through
// this interface, so that an object store can take the place of a shared file system. Therefore
// nothing is renamed: a file is complete when Close or Put returns, and a checkpoint is complete
// when its manifest is. Paths are absolute; in an object store they are URLs (s3://bucket/name).
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gp {

// One file being written. Destroying it without Close discards it.
class StorageWriter {
 public:
  virtual ~StorageWriter() = default;
  // Appends; the bytes may be written with later ones. ResourceExhausted when the disk is full; the
  // message names the path and tells what to do.
  virtual Status Append(std::string_view data) = 0;
  // Writes the remaining bytes and makes all of them durable. Returns the same errors as Append.
  // Nothing can be appended after Close.
  virtual Status Close() = 0;
};

class Storage {
 public:
  virtual ~Storage() = default;

  // Creates `directory` in an existing one, durable on return. OK if it exists.
  virtual Status MakeDirectory(const std::string& directory) const = 0;

  // Creates a file. Nobody else may read it before Close. AlreadyExists when the file exists.
  virtual StatusOr<std::unique_ptr<StorageWriter>> Create(const std::string& path) const = 0;
  // Writes a small file as a whole, in place of one that exists. A reader finds the old or the new
  // content. Durable on return.
  virtual Status Put(const std::string& path, std::string_view data) const = 0;
  // Like Put, but returns AlreadyExists when the file exists. If several writers try at the same
  // time, exactly one succeeds. Unimplemented where that cannot be promised: in object stores
  // without conditional writes.
  virtual Status PutIfAbsent(const std::string& path, std::string_view data) const = 0;

  // The whole file. NotFound, or ResourceExhausted when it is larger than `size_bytes_max`.
  virtual StatusOr<std::string> Get(const std::string& path, uint64_t size_bytes_max) const = 0;
  // Calls `consume` with consecutive pieces of the file, until it returns an error.
  virtual Status Stream(const std::string& path,
                        const std::function<Status(std::string_view)>& consume) const = 0;
  // Bytes of the file. NotFound, or InvalidArgument for a directory.
  virtual StatusOr<uint64_t> Size(const std::string& path) const = 0;
  // The names in `directory`, sorted. NotFound when it does not exist.
  virtual StatusOr<std::vector<std::string>> List(const std::string& directory) const = 0;

  // Deletes the file or the directory with everything below it. OK when `path` does not exist, so
  // an interrupted deletion can be repeated.
  virtual Status Delete(const std::string& path) const = 0;

  // Bytes that may still be written at `path`.
  virtual StatusOr<uint64_t> FreeBytes(const std::string& path) const = 0;
};

// Whether `path` is an existing file.
inline bool Exists(const Storage& storage, const std::string& path) {
  return storage.Size(path).ok();
}

}  // namespace gp
