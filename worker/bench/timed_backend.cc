#include "worker/bench/timed_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gp::engine {
namespace {

// Lower slots belong to the code that uses the backend.
constexpr int kFirstSlot = 256;
constexpr int kPendingMax = 512;

std::string Sizes(const char* what, const LinearShape& shape) {
  return fmt::format("{} {} to {}", what, shape.in, shape.out);
}

}  // namespace

TimedBackend::TimedBackend(std::unique_ptr<Backend> inner)
    : inner_(std::move(inner)), scalar_(static_cast<double*>(inner_->Allocate(sizeof(double)))) {
  for (int slot = 0; slot < kFirstSlot + 2 * kPendingMax; ++slot) inner_->Mark(slot);  // dense
}

void TimedBackend::Time(std::string name, const std::function<void()>& work) {
  const int slot = kFirstSlot + 2 * static_cast<int>(pending_.size());
  inner_->Mark(slot);
  work();
  inner_->Mark(slot + 1);
  pending_.push_back(std::move(name));
  if (pending_.size() >= static_cast<size_t>(kPendingMax)) CollectTimes();
}

void TimedBackend::CollectTimes() {
  inner_->Synchronize();
  int slot = kFirstSlot;
  for (const std::string& name : pending_) {
    OperationTime& time = times_[name];
    time.name = name;
    time.calls += 1;
    time.ms += inner_->MillisecondsBetween(slot, slot + 1);
    slot += 2;
  }
  pending_.clear();
}

std::vector<OperationTime> TimedBackend::TakeTimes() {
  CollectTimes();
  std::vector<OperationTime> times;
  for (auto& [name, time] : times_) times.push_back(std::move(time));
  times_.clear();
  std::sort(times.begin(), times.end(),
            [](const OperationTime& a, const OperationTime& b) { return a.ms > b.ms; });
  return times;
}

void TimedBackend::Replay(const ReplayKey&, const std::function<void()>& work) { work(); }

void TimedBackend::Upload(void* to, const void* from, int64_t bytes) {
  Time("upload", [&] { inner_->Upload(to, from, bytes); });
}

void TimedBackend::Download(void* to, const void* from, int64_t bytes) {
  Time("download", [&] { inner_->Download(to, from, bytes); });
}

void TimedBackend::BeginDownload(void* to, const void* from, int64_t bytes) {
  Time("download", [&] { inner_->BeginDownload(to, from, bytes); });
}

void TimedBackend::Copy(void* to, const void* from, int64_t bytes) {
  Time("copy", [&] { inner_->Copy(to, from, bytes); });
}

void TimedBackend::Forward(const LinearForward& args) {
  Time(Sizes("linear forward", args.shape), [&] { inner_->Forward(args); });
}

void TimedBackend::BackwardInput(const LinearBackwardInput& args) {
  Time(Sizes("linear dX", args.shape), [&] { inner_->BackwardInput(args); });
}

void TimedBackend::BackwardWeight(const LinearBackwardWeight& args) {
  Time(Sizes("linear dW", args.shape), [&] { inner_->BackwardWeight(args); });
}

void TimedBackend::AttentionForward(const AttentionShape& shape, Buffer out, float* lse, Buffer qkv,
                                    const Dropout& dropout) {
  Time("attention forward", [&] { inner_->AttentionForward(shape, out, lse, qkv, dropout); });
}

void TimedBackend::AttentionForward(const CachedAttention& args) {
  Time("attention over a cache", [&] { inner_->AttentionForward(args); });
}

void TimedBackend::AttentionBackward(const AttentionShape& shape, Buffer dqkv, Buffer dout,
                                     Buffer out, const float* lse, Buffer qkv,
                                     const Dropout& dropout) {
  Time("attention backward",
       [&] { inner_->AttentionBackward(shape, dqkv, dout, out, lse, qkv, dropout); });
}

void TimedBackend::Forward(const StoredAttention& args, Buffer out) {
  Time("attention forward", [&] { inner_->Forward(args, out); });
}

void TimedBackend::Backward(const StoredAttention& args, Buffer dqkv, Buffer dout) {
  Time("attention backward", [&] { inner_->Backward(args, dqkv, dout); });
}

void TimedBackend::Forward(const LayerNorm& args) {
  Time("LayerNorm", [&] { inner_->Forward(args); });
}

void TimedBackend::Backward(const LayerNormBackward& args) {
  Time("LayerNorm backward", [&] { inner_->Backward(args); });
}

void TimedBackend::ResidualLayerNorm(Buffer residual, Buffer in, Buffer branch,
                                     const Dropout& dropout, const LayerNorm& args) {
  Time("residual + LayerNorm",
       [&] { inner_->ResidualLayerNorm(residual, in, branch, dropout, args); });
}

void TimedBackend::ResidualLayerNormBackward(const LayerNormBackward& args,
                                             const BranchGradient& branch) {
  Time("LayerNorm backward + residual", [&] { inner_->ResidualLayerNormBackward(args, branch); });
}

void TimedBackend::Residual(int64_t rows, int64_t channels, Buffer out, Buffer in, Buffer branch,
                            const Dropout& dropout) {
  Time("residual", [&] { inner_->Residual(rows, channels, out, in, branch, dropout); });
}

void TimedBackend::ResidualBackward(int64_t rows, int64_t channels, Buffer dbranch, Buffer dout,
                                    const Dropout& dropout) {
  Time("residual backward",
       [&] { inner_->ResidualBackward(rows, channels, dbranch, dout, dropout); });
}

void TimedBackend::GeluForward(int64_t count, runspec::Gelu kind, Buffer out, Buffer in) {
  Time("GELU", [&] { inner_->GeluForward(count, kind, out, in); });
}

void TimedBackend::GeluBackward(int64_t count, runspec::Gelu kind, Buffer dy, Buffer in) {
  Time("GELU backward", [&] { inner_->GeluBackward(count, kind, dy, in); });
}

void TimedBackend::EmbeddingForward(int64_t sequences, int64_t length, int64_t channels, Buffer out,
                                    const int32_t* tokens, const float* wte, const float* wpe,
                                    const Dropout& dropout) {
  Time("embedding", [&] {
    inner_->EmbeddingForward(sequences, length, channels, out, tokens, wte, wpe, dropout);
  });
}

void TimedBackend::EmbeddingBackward(int64_t sequences, int64_t length, int64_t channels,
                                     float* dwte, float* dwpe, Buffer dout, const int32_t* tokens,
                                     const Dropout& dropout) {
  Time("embedding backward", [&] {
    inner_->EmbeddingBackward(sequences, length, channels, dwte, dwpe, dout, tokens, dropout);
  });
}

void TimedBackend::Forward(const CrossEntropyLoss& args) {
  Time("cross-entropy", [&] { inner_->Forward(args); });
}

void TimedBackend::Backward(const CrossEntropyGradient& args) {
  Time("cross-entropy backward", [&] { inner_->Backward(args); });
}

void TimedBackend::ForwardAndBackward(const CrossEntropyLoss& forward,
                                      const CrossEntropyGradient& backward) {
  Time("cross-entropy, both", [&] { inner_->ForwardAndBackward(forward, backward); });
}

void TimedBackend::ComputeGradientFactor(const GradientFactor& args) {
  Time("gradient factor", [&] { inner_->ComputeGradientFactor(args); });
}

void TimedBackend::Update(const AdamWUpdate& args) {
  Time("AdamW", [&] { inner_->Update(args); });
}

void TimedBackend::SumOfSquares(double* sum, const float* values, int64_t count) {
  Time("sum of squares", [&] { inner_->SumOfSquares(sum, values, count); });
}

void TimedBackend::Zero(void* data, int64_t bytes) {
  Time("zero", [&] { inner_->Zero(data, bytes); });
}

void TimedBackend::Round(int64_t count, Buffer out, const float* in,
                         const StochasticRounding& rounding) {
  Time("round", [&] { inner_->Round(count, out, in, rounding); });
}

void TimedBackend::Axpby(int64_t count, float* out, float a, const float* x, float b,
                         const float* y) {
  Time("combine", [&] { inner_->Axpby(count, out, a, x, b, y); });
}

}  // namespace gp::engine
