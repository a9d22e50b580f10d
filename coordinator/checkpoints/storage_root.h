// StorageRoot: the shared path that coordinator and agents see under one name. A file in it,
// .gp-probe, holds the identity of the storage: it proves that the path leads to the storage of
// this catalogue, and not to an empty mount point or to another one. Immutable after Open;
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/state/cluster.h"
#include "coordinator/state/ids.h"
#include "storage/storage.h"

namespace gp::coordinator {

// The store's record of the storage root.
struct ExpectedStorage {
  std::string identity;                  // empty: the store has recorded none
  std::vector<std::string> checkpoints;  // directories of the catalogue that must be there
  size_t live_runs = 0;                  // runs that have not ended
  bool adopt = false;                    // accept the existing storage, whatever it is
};

// The directories of the checkpoints of all runs that are neither retired nor in quarantine.
std::vector<std::string> CatalogueOf(const Cluster& cluster);

// `path` as StorageRoot keeps it: absolute, without a slash at the end.
std::string StorageRootPath(const std::string& path);

class StorageRoot {
 public:
  virtual ~StorageRoot() = default;
  // Creates the directory and its probe file if absent, provided that it may be the expected
  // storage: it has the identity; or it has no probe file, and every checkpoint of the catalogue
  // exists. A storage without a probe file gets a new identity when the catalogue is empty, but
  // only while the known storage has no unfinished run. Otherwise nothing is created.
  // FailedPrecondition when it is another storage, or an empty one; the message says what is
  // missing and what to do.
  // `storage` must outlive the result.
  static StatusOr<StorageRoot> Open(const Storage& storage, const std::string& path,
                                    const ExpectedStorage& expected = {});

  const std::string& path() const { return path_; }
  const std::string& identity() const { return identity_; }
  std::string RunDirectory(const RunId& run) const;

  // FailedPrecondition or ResourceExhausted when a run could not write its checkpoints now, for
  // example because the storage is no longer mounted. May take long: a network file system may
  // hang.
  virtual Status CheckWritable() const;

 protected:
  StorageRoot(const Storage& storage, std::string path, std::string identity)
      : storage_(storage), path_(std::move(path)), identity_(std::move(identity)) {}

 private:
  const Storage& storage_;
  std::string path_;  // absolute
  std::string identity_;
};

}  // namespace gp::coordinator
