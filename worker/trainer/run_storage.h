// RunStorage: writes the checkpoints of a run. The process itself writes in the directory that it
// began with. If that was deleted or replaced, the storage broker makes and opens the files of the
// new directory. A directory that was moved away may come back, so it is not replaced before the
// last save. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "storage/local_storage.h"
#include "storage/storage.h"
#include "worker/trainer/run_directory.h"

namespace gp::engine {

class RunStorage final : public Storage {
 public:
  // Without a broker this process is not confined and reaches every directory.
  RunStorage(const std::string& run_directory, std::shared_ptr<const Storage> broker);

  const RunDirectory& directory() const { return directory_; }

  // From now on a new directory replaces one that was moved away; otherwise the unsaved state would
  // be lost.
  void BeginLastSave() { last_save_ = true; }

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
  const Storage& Reached() const;

  const RunDirectory directory_;
  const std::shared_ptr<const Storage> broker_;  // nullptr without a broker
  LocalStorage local_;
  std::atomic<bool> last_save_ = false;
};

}  // namespace gp::engine
