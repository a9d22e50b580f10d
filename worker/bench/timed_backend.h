// TimedBackend: wraps a backend and times each operation with that backend's marks. Replay runs the
// work instead of a record, so that each operation is timed. Owned by a model; one thread calls.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

struct OperationTime {
  std::string name;  // "linear forward 768 to 2304"
  int calls = 0;
  double ms = 0;  // all calls together
};

class TimedBackend final : public Backend {
 public:
  explicit TimedBackend(std::unique_ptr<Backend> inner);

  // The operations since the last call of TakeTimes, the longest first. Waits for them.
  std::vector<OperationTime> TakeTimes();

  const char* name() const override { return inner_->name(); }
  int threads() const override { return inner_->threads(); }
  void* Allocate(int64_t bytes) override { return inner_->Allocate(bytes); }
  int64_t allocated_bytes() const override { return inner_->allocated_bytes(); }
  bool host_reachable() const override { return inner_->host_reachable(); }
  void* AllocateHost(int64_t bytes) override { return inner_->AllocateHost(bytes); }
  void Upload(void* to, const void* from, int64_t bytes) override;
  void Download(void* to, const void* from, int64_t bytes) override;
  void BeginDownload(void* to, const void* from, int64_t bytes) override;
  void AwaitDownload() override { inner_->AwaitDownload(); }
  void Fetch(void* to, const void* from, int64_t bytes) override { inner_->Fetch(to, from, bytes); }
  void Copy(void* to, const void* from, int64_t bytes) override;
  void Synchronize() override { inner_->Synchronize(); }
  void Replay(const ReplayKey& key, const std::function<void()>& work) override;
  void Mark(int slot) override { inner_->Mark(slot); }
  double MillisecondsBetween(int first, int second) override {
    return inner_->MillisecondsBetween(first, second);
  }

  void Forward(const LinearForward& args) override;
  void Pack(const WeightRows& args) override { inner_->Pack(args); }
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
  void ForwardAndBackward(const CrossEntropyLoss& forward,
                          const CrossEntropyGradient& backward) override;
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
  // Runs `work` between two marks.
  void Time(std::string name, const std::function<void()>& work);
  // Adds the times of the pending marks to times_. Waits for them.
  void CollectTimes();

  std::unique_ptr<Backend> inner_;
  double* scalar_;
  std::vector<std::string> pending_;  // operation i lies between marks 2i and 2i + 1, from kFirst
  std::map<std::string, OperationTime> times_;
};

}  // namespace gp::engine
