// DetachedBackend: a device without a device. It computes with the CPU backend, bit for bit, but
// what Allocate gives out cannot be touched by the host outside an operation: a stray access ends
// the test with SIGSEGV. Replay records operations under a key and later replays the record without
// calling the work, and what must not happen inside it throws std::logic_error. One thread calls,
// Fetch from any.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cpu/cpu_backend.h"

namespace gp::engine {

class DetachedBackend : public Backend {
 public:
  explicit DetachedBackend(const CpuBackendOptions& options, bool graph = true);
  ~DetachedBackend() override;

  // How often a record was replayed.
  int64_t replays() const { return replays_; }

  const char* name() const override { return "detached"; }
  int threads() const override { return inner_->threads(); }
  void* Allocate(int64_t bytes) override;
  int64_t allocated_bytes() const override { return allocated_bytes_; }
  bool host_reachable() const override { return false; }
  void* AllocateHost(int64_t bytes) override;
  void Upload(void* to, const void* from, int64_t bytes) override;
  void Download(void* to, const void* from, int64_t bytes) override;
  void BeginDownload(void* to, const void* from, int64_t bytes) override;
  void AwaitDownload() override;
  void Fetch(void* to, const void* from, int64_t bytes) override;
  void Copy(void* to, const void* from, int64_t bytes) override;
  void Synchronize() override { RefuseInsideReplay("Synchronize"); }
  void Replay(const ReplayKey& key, const std::function<void()>& work) override;
  void Mark(int slot) override;
  double MillisecondsBetween(int first, int second) override;

  void Forward(const LinearForward& args) override;
  void Pack(const WeightRows& args) override;
  void BackwardInput(const LinearBackwardInput& args) override;
  void BackwardWeight(const LinearBackwardWeight& args) override;
  void AttentionForward(const AttentionShape& shape, Buffer out, float* lse, Buffer qkv,
                        const Dropout& dropout) override;
  void AttentionForward(const CachedAttention& args) override;
  void AttentionBackward(const AttentionShape& shape, Buffer dqkv, Buffer dout, Buffer out,
                         const float* lse, Buffer qkv, const Dropout& dropout) override;
  void Forward(const StoredAttention& args, Buffer out) override;
  void Backward(const StoredAttention& args, Buffer dqkv, Buffer dout) override;
  void Forward(const LayerNorm& args) override;
  void Backward(const LayerNormBackward& args) override;
  void ResidualLayerNorm(Buffer residual, Buffer in, Buffer branch, const Dropout& dropout,
                         const LayerNorm& args) override;
  void ResidualLayerNormBackward(const LayerNormBackward& args,
                                 const BranchGradient& branch) override;
  void Residual(int64_t rows, int64_t channels, Buffer out, Buffer in, Buffer branch,
                const Dropout& dropout) override;
  void ResidualBackward(int64_t rows, int64_t channels, Buffer dbranch, Buffer dout,
                        const Dropout& dropout) override;
  void GeluForward(int64_t count, runspec::Gelu kind, Buffer out, Buffer in) override;
  void GeluBackward(int64_t count, runspec::Gelu kind, Buffer dy, Buffer in) override;
  void EmbeddingForward(int64_t sequences, int64_t length, int64_t channels, Buffer out,
                        const int32_t* tokens, const float* wte, const float* wpe,
                        const Dropout& dropout) override;
  void EmbeddingBackward(int64_t sequences, int64_t length, int64_t channels, float* dwte,
                         float* dwpe, Buffer dout, const int32_t* tokens,
                         const Dropout& dropout) override;
  void Forward(const CrossEntropyLoss& args) override;
  void Backward(const CrossEntropyGradient& args) override;
  void ComputeGradientFactor(const GradientFactor& args) override;
  void Update(const AdamWUpdate& args) override;
  void SumOfSquares(double* sum, const float* values, int64_t count) override;
  void Zero(void* data, int64_t bytes) override;
  void Round(int64_t count, Buffer out, const float* in,
             const StochasticRounding& rounding) override;
  void Axpby(int64_t count, float* out, float a, const float* x, float b, const float* y) override;

 protected:
  double* scalar() override { return scalar_; }

 private:
  using Operation = std::function<void()>;
  class Access;  // the memory is the host's while one lives
  struct Region {
    void* data = nullptr;
    size_t bytes = 0;
  };

  // Carries the operation out, and records it where a record is being made.
  void Do(Operation operation);
  void RefuseInsideReplay(const char* what) const;
  void Protect(int protection) REQUIRES(mutex_);

  const std::unique_ptr<Backend> inner_;
  const bool graph_;
  Mutex mutex_;
  int accesses_ GUARDED_BY(mutex_) = 0;
  std::vector<Region> regions_ GUARDED_BY(mutex_);
  int64_t allocated_bytes_ = 0;
  double* scalar_ = nullptr;
  // Between BeginDownload and AwaitDownload: nobody has the bytes sooner.
  void* downloaded_to_ = nullptr;
  std::vector<std::byte> downloaded_;
  std::map<ReplayKey, std::vector<Operation>> records_;
  std::vector<Operation>* recording_ = nullptr;
  bool inside_replay_ = false;
  int64_t replays_ = 0;
};

}  // namespace gp::engine
