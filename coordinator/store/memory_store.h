// MemoryStore: the Store of tests and simulations. A MemoryStore::Disk outlives the store of one
// coordinator, so a test can open the next store on it; a test can also make the disk full. Every
// method may be called from any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "coordinator/store/store.h"

namespace gp::coordinator {

class MemoryStore final : public Store {
 public:
  // Outlives the stores that are opened on it.
  struct Disk {
    Mutex mutex;
    uint64_t generation GUARDED_BY(mutex) = 0;
    std::vector<std::string> records GUARDED_BY(mutex);
    bool full GUARDED_BY(mutex) = false;
  };

  explicit MemoryStore(Disk& disk);

  uint64_t generation() const override { return generation_; }
  StatusOr<uint64_t> Append(const std::vector<Event>& events) override;
  Status Load(const std::function<void(const StoredEvent&)>& visit) override;
  StatusOr<std::vector<StoredEvent>> ReadRun(const RunId& run, uint64_t after, int limit) override;
  StatusOr<std::vector<EndedRun>> ListEnded(const RunQuery& query,
                                            const EndedRange& range) override;

 private:
  Disk& disk_;
  uint64_t generation_ = 0;
};

}  // namespace gp::coordinator
