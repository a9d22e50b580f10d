// TimedBackend: wraps a backend and times each operation with that backend's marks. Replay runs the
// work instead of a record, so that each operation is timed. Owned by a model; one thread calls.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "worker/engine/backend/decorated_backend.h"

namespace gp::engine {

struct OperationTime {
  std::string name;  // "linear forward 768 to 2304"
  int calls = 0;
  double ms = 0;  // all calls together
};

class TimedBackend final : public DecoratedBackend {
 public:
  explicit TimedBackend(std::unique_ptr<Backend> inner);

  // The operations since the last call of TakeTimes, the longest first. Waits for them.
  std::vector<OperationTime> TakeTimes();

  const char* name() const override { return inner().name(); }
  void* Allocate(int64_t bytes) override { return inner().Allocate(bytes); }
  int64_t allocated_bytes() const override { return inner().allocated_bytes(); }
  bool host_reachable() const override { return inner().host_reachable(); }
  void* AllocateHost(int64_t bytes) override { return inner().AllocateHost(bytes); }
  void Upload(void* to, const void* from, int64_t bytes) override;
  void Download(void* to, const void* from, int64_t bytes) override;
  void BeginDownload(void* to, const void* from, int64_t bytes) override;
  void AwaitDownload() override { inner().AwaitDownload(); }
  void Fetch(void* to, const void* from, int64_t bytes) override { inner().Fetch(to, from, bytes); }
  void Synchronize() override { inner().Synchronize(); }
  void Replay(const ReplayKey& key, const std::function<void()>& work) override;
  // Not timed: weights are packed once, when they are loaded.
  void Pack(const WeightRows& args) override { inner().Pack(args); }

 protected:
  // Runs the operation between two marks.
  void Do(std::string name, Operation operation) override;
  double* scalar() override { return scalar_; }

 private:
  // Adds the times of the pending marks to times_. Waits for them.
  void CollectTimes();

  double* scalar_;
  std::vector<std::string> pending_;  // operation i: between marks kFirstSlot + 2i and the next
  std::map<std::string, OperationTime> times_;
};

}  // namespace gp::engine
