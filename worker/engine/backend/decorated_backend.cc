#include "worker/engine/backend/decorated_backend.h"

#include <utility>

namespace gp::engine {
namespace {

std::string Sizes(const char* what, const LinearShape& shape) {
  return std::string(what) + " " + std::to_string(shape.in) + " to " + std::to_string(shape.out);
}

}  // namespace

DecoratedBackend::DecoratedBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}
DecoratedBackend::~DecoratedBackend() = default;

void DecoratedBackend::Copy(void* to, const void* from, int64_t bytes) {
  Do("copy", [=, this] { inner_->Copy(to, from, bytes); });
}

void DecoratedBackend::Forward(const LinearForward& args) {
  Do(Sizes("linear forward", args.shape), [=, this] { inner_->Forward(args); });
}

void DecoratedBackend::Pack(const WeightRows& args) {
  Do("pack", [=, this] { inner_->Pack(args); });
}

void DecoratedBackend::BackwardInput(const LinearBackwardInput& args) {
  Do(Sizes("linear dX", args.shape), [=, this] { inner_->BackwardInput(args); });
}

void DecoratedBackend::BackwardWeight(const LinearBackwardWeight& args) {
  Do(Sizes("linear dW", args.shape), [=, this] { inner_->BackwardWeight(args); });
}

void DecoratedBackend::Multiply(const SymmetricProduct& args) {
  Do("symmetric product", [=, this] { inner_->Multiply(args); });
}

void DecoratedBackend::ForEach(int64_t count, const LaneWork& work) {
  Do("work in lanes", [=, this] { inner_->ForEach(count, work); });
}

void DecoratedBackend::AttentionForward(const AttentionShape& shape, Buffer out, float* lse,
                                        Buffer qkv, const Dropout& dropout) {
  Do("attention forward", [=, this] { inner_->AttentionForward(shape, out, lse, qkv, dropout); });
}

void DecoratedBackend::AttentionForward(const CachedAttention& args) {
  Do("attention over a cache", [=, this] { inner_->AttentionForward(args); });
}

void DecoratedBackend::AttendRows(const CachedAttention& args, const DecodeRows& rows) {
  Do("attention over a cache", [=, this] { inner_->AttendRows(args, rows); });
}

void DecoratedBackend::AttentionBackward(const AttentionShape& shape, Buffer dqkv, Buffer dout,
                                         Buffer out, const float* lse, Buffer qkv,
                                         const Dropout& dropout) {
  Do("attention backward",
     [=, this] { inner_->AttentionBackward(shape, dqkv, dout, out, lse, qkv, dropout); });
}

void DecoratedBackend::Forward(const StoredAttention& args, Buffer out) {
  Do("attention forward", [=, this] { inner_->Forward(args, out); });
}

void DecoratedBackend::Backward(const StoredAttention& args, Buffer dqkv, Buffer dout) {
  Do("attention backward", [=, this] { inner_->Backward(args, dqkv, dout); });
}

void DecoratedBackend::Forward(const LayerNorm& args) {
  Do("LayerNorm", [=, this] { inner_->Forward(args); });
}

void DecoratedBackend::Backward(const LayerNormBackward& args) {
  Do("LayerNorm backward", [=, this] { inner_->Backward(args); });
}

void DecoratedBackend::ResidualLayerNorm(Buffer residual, Buffer in, Buffer branch,
                                         const Dropout& dropout, const LayerNorm& args) {
  Do("residual + LayerNorm",
     [=, this] { inner_->ResidualLayerNorm(residual, in, branch, dropout, args); });
}

void DecoratedBackend::ResidualLayerNormBackward(const LayerNormBackward& args,
                                                 const BranchGradient& branch) {
  Do("LayerNorm backward + residual",
     [=, this] { inner_->ResidualLayerNormBackward(args, branch); });
}

void DecoratedBackend::Residual(int64_t rows, int64_t channels, Buffer out, Buffer in,
                                Buffer branch, const Dropout& dropout) {
  Do("residual", [=, this] { inner_->Residual(rows, channels, out, in, branch, dropout); });
}

void DecoratedBackend::ResidualBackward(int64_t rows, int64_t channels, Buffer dbranch, Buffer dout,
                                        const Dropout& dropout) {
  Do("residual backward",
     [=, this] { inner_->ResidualBackward(rows, channels, dbranch, dout, dropout); });
}

void DecoratedBackend::GeluForward(int64_t count, runspec::Gelu kind, Buffer out, Buffer in) {
  Do("GELU", [=, this] { inner_->GeluForward(count, kind, out, in); });
}

void DecoratedBackend::GeluBackward(int64_t count, runspec::Gelu kind, Buffer dy, Buffer in) {
  Do("GELU backward", [=, this] { inner_->GeluBackward(count, kind, dy, in); });
}

void DecoratedBackend::EmbeddingForward(int64_t sequences, int64_t length, int64_t channels,
                                        Buffer out, const int32_t* tokens, const float* wte,
                                        const float* wpe, const Dropout& dropout) {
  Do("embedding", [=, this] {
    inner_->EmbeddingForward(sequences, length, channels, out, tokens, wte, wpe, dropout);
  });
}

void DecoratedBackend::EmbedRows(const DecodeRows& rows, int64_t channels, Buffer out,
                                 const float* wte, const float* wpe) {
  Do("embedding", [=, this] { inner_->EmbedRows(rows, channels, out, wte, wpe); });
}

void DecoratedBackend::EmbeddingBackward(int64_t sequences, int64_t length, int64_t channels,
                                         float* dwte, float* dwpe, Buffer dout,
                                         const int32_t* tokens, const Dropout& dropout) {
  Do("embedding backward", [=, this] {
    inner_->EmbeddingBackward(sequences, length, channels, dwte, dwpe, dout, tokens, dropout);
  });
}

void DecoratedBackend::FindLikeliest(const LikeliestTokens& args) {
  Do("likeliest tokens", [=, this] { inner_->FindLikeliest(args); });
}

void DecoratedBackend::Forward(const CrossEntropyLoss& args) {
  Do("cross-entropy", [=, this] { inner_->Forward(args); });
}

void DecoratedBackend::Backward(const CrossEntropyGradient& args) {
  Do("cross-entropy backward", [=, this] { inner_->Backward(args); });
}

void DecoratedBackend::ForwardAndBackward(const CrossEntropyLoss& forward,
                                          const CrossEntropyGradient& backward) {
  Do("cross-entropy, both", [=, this] { inner_->ForwardAndBackward(forward, backward); });
}

void DecoratedBackend::ComputeGradientFactor(const GradientFactor& args) {
  Do("gradient factor", [=, this] { inner_->ComputeGradientFactor(args); });
}

void DecoratedBackend::Update(const AdamWUpdate& args) {
  Do("AdamW", [=, this] { inner_->Update(args); });
}

void DecoratedBackend::SumOfSquares(double* sum, const float* values, int64_t count) {
  Do("sum of squares", [=, this] { inner_->SumOfSquares(sum, values, count); });
}

void DecoratedBackend::Zero(void* data, int64_t bytes) {
  Do("zero", [=, this] { inner_->Zero(data, bytes); });
}

void DecoratedBackend::Round(int64_t count, Buffer out, const float* in,
                             const StochasticRounding& rounding) {
  Do("round", [=, this] { inner_->Round(count, out, in, rounding); });
}

void DecoratedBackend::Axpby(int64_t count, float* out, float a, const float* x, float b,
                             const float* y) {
  Do("combine", [=, this] { inner_->Axpby(count, out, a, x, b, y); });
}

}  // namespace gp::engine
