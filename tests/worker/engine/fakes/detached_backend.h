// DetachedBackend: simulates a device whose memory the host cannot access. It computes with the CPU
// backend, bit for bit, but memory from Allocate is accessible only inside an operation: any other
// access ends the test with SIGSEGV. Replay records operations under a key and later replays them
// without calling the work; calls that are forbidden during a recording throw std::logic_error.
// Used by one thread; Fetch may be called from any.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/backend/decorated_backend.h"

namespace gp::engine {

class DetachedBackend : public DecoratedBackend {
 public:
  explicit DetachedBackend(const CpuBackendOptions& options, bool graph = true);
  ~DetachedBackend() override;

  // How often recorded operations were replayed.
  int64_t replays() const { return replays_; }

  const char* name() const override { return "detached"; }
  void* Allocate(int64_t bytes) override;
  int64_t allocated_bytes() const override { return allocated_bytes_; }
  bool host_reachable() const override { return false; }
  void* AllocateHost(int64_t bytes) override;
  void Upload(void* to, const void* from, int64_t bytes) override;
  void Download(void* to, const void* from, int64_t bytes) override;
  void BeginDownload(void* to, const void* from, int64_t bytes) override;
  void AwaitDownload() override;
  void Fetch(void* to, const void* from, int64_t bytes) override;
  void Synchronize() override { RefuseInsideReplay("Synchronize"); }
  void Replay(const ReplayKey& key, const std::function<void()>& work) override;
  void Mark(int slot) override;

  using DecoratedBackend::AttentionForward;
  void AttentionForward(const CachedAttention& args) override;

 protected:
  // Runs the operation, and records it if a recording is in progress.
  void Do(std::string name, Operation operation) override;
  double* scalar() override { return scalar_; }

 private:
  class Access;  // while one exists, the host may access the memory
  struct Region {
    void* data = nullptr;
    size_t bytes = 0;
  };

  void RefuseInsideReplay(const char* what) const;
  void Protect(int protection) REQUIRES(mutex_);

  const bool graph_;
  Mutex mutex_;
  int accesses_ GUARDED_BY(mutex_) = 0;
  std::vector<Region> regions_ GUARDED_BY(mutex_);
  int64_t allocated_bytes_ = 0;
  double* scalar_ = nullptr;
  // A download in progress: AwaitDownload copies the bytes to their target.
  void* downloaded_to_ = nullptr;
  std::vector<std::byte> downloaded_;
  std::map<ReplayKey, std::vector<Operation>> records_;
  std::vector<Operation>* recording_ = nullptr;
  bool inside_replay_ = false;
  int64_t replays_ = 0;
};

}  // namespace gp::engine
