// DecoratedBackend: passes every operation on to another backend, through one function in which a
// derived class times it, records it or guards its memory. Owned by a model; the thread rules of
// Backend apply.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

class DecoratedBackend : public Backend {
 public:
  explicit DecoratedBackend(std::unique_ptr<Backend> inner);
  ~DecoratedBackend() override;

  int threads() const override { return inner_->threads(); }
  int lanes() const override { return inner_->lanes(); }
  void* queue() override { return inner_->queue(); }
  void Mark(int slot) override { inner_->Mark(slot); }
  double MillisecondsBetween(int first, int second) override {
    return inner_->MillisecondsBetween(first, second);
  }

  void Copy(void* to, const void* from, int64_t bytes) override;
  void Forward(const LinearForward& args) override;
  bool adds_in_products() const override { return inner_->adds_in_products(); }
  void Pack(const WeightRows& args) override;
  void BackwardInput(const LinearBackwardInput& args) override;
  void BackwardWeight(const LinearBackwardWeight& args) override;
  void Multiply(const SymmetricProduct& args) override;
  void ForEach(int64_t count, const LaneWork& work) override;
  void AttentionForward(const AttentionShape& shape, Buffer out, float* lse, Buffer qkv,
                        const Dropout& dropout) override;
  void AttentionForward(const CachedAttention& args) override;
  void AttendRows(const CachedAttention& args, const DecodeRows& rows) override;
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
  void EmbedRows(const DecodeRows& rows, int64_t channels, Buffer out, const float* wte,
                 const float* wpe) override;
  void EmbeddingBackward(int64_t sequences, int64_t length, int64_t channels, float* dwte,
                         float* dwpe, Buffer dout, const int32_t* tokens,
                         const Dropout& dropout) override;
  void FindLikeliest(const LikeliestTokens& args) override;
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
  using Operation = std::function<void()>;

  // Carries out an operation of inner(), for example "linear forward 768 to 2304". It holds copies
  // of its arguments, so it may be called again later.
  virtual void Do(std::string name, Operation operation) = 0;

  Backend& inner() { return *inner_; }
  const Backend& inner() const { return *inner_; }

 private:
  const std::unique_ptr<Backend> inner_;
};

}  // namespace gp::engine
