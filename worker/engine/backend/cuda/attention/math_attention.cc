#include "worker/engine/backend/cuda/attention/math_attention.h"

#include <cmath>

#include "worker/engine/backend/cuda/kernels/attention/causal_softmax.h"
#include "worker/engine/backend/cuda/runtime/element_type.h"

namespace gp::engine {
namespace {

float ScaleOf(const AttentionShape& shape) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_size)));
}

int64_t ScoreRows(const AttentionShape& shape) {
  return shape.sequences * shape.heads * shape.length;
}

}  // namespace

void CudaMathAttention::Forward(const StoredAttention& args, Buffer out) {
  const AttentionShape& s = args.shape;
  const bool drops = args.dropout.probability > 0;
  // The matrix product applies the scale and not the softmax, because unscaled scores would
  // overflow in fp16.
  Multiply(s, Scores(s, args.probabilities), s.length, Packed(s, args.qkv, 0),
           Transposed(Packed(s, args.qkv, 1)), s.head_size, ScaleOf(s));
  LaunchCausalSoftmax({.rows = ScoreRows(s),
                       .length = s.length,
                       .scale = 1,
                       .scores = args.probabilities,
                       .dropped = drops ? args.scratch : Buffer{},
                       .dropout = args.dropout},
                      stream_);
  Multiply(s, Plain(s, out), s.head_size, Scores(s, drops ? args.scratch : args.probabilities),
           Packed(s, args.qkv, 2), s.length, 1);
}

void CudaMathAttention::Backward(const StoredAttention& args, Buffer dqkv, Buffer dout) {
  const AttentionShape& s = args.shape;
  const bool drops = args.dropout.probability > 0;
  const HeadMatrix d_scores = Scores(s, args.scratch);
  // All layers share the scratch memory, so the forward pass of a later layer has overwritten it.
  if (drops) {
    LaunchDropProbabilities(ScoreRows(s), s.length, args.scratch, args.probabilities, args.dropout,
                            stream_);
  }
  Multiply(s, Packed(s, dqkv, 2), s.head_size,
           Transposed(Scores(s, drops ? args.scratch : args.probabilities)), Plain(s, dout),
           s.length, 1);
  Multiply(s, d_scores, s.length, Plain(s, dout), Transposed(Packed(s, args.qkv, 2)), s.head_size,
           1);
  LaunchCausalSoftmaxBackward({.rows = ScoreRows(s),
                               .length = s.length,
                               .scale = ScaleOf(s),
                               .d = args.scratch,
                               .probabilities = args.probabilities,
                               .dropout = args.dropout},
                              stream_);
  Multiply(s, Packed(s, dqkv, 0), s.head_size, d_scores, Packed(s, args.qkv, 1), s.length, 1);
  Multiply(s, Packed(s, dqkv, 1), s.head_size, Transposed(d_scores), Packed(s, args.qkv, 0),
           s.length, 1);
}

CudaMathAttention::HeadMatrix CudaMathAttention::Packed(const AttentionShape& shape, Buffer qkv,
                                                        int64_t part) {
  return {.first = qkv.From(part * shape.channels()),
          .stride = 3 * shape.channels(),
          .sequence = shape.length * 3 * shape.channels(),
          .head = shape.head_size};
}

CudaMathAttention::HeadMatrix CudaMathAttention::Plain(const AttentionShape& shape, Buffer rows) {
  return {.first = rows,
          .stride = shape.channels(),
          .sequence = shape.length * shape.channels(),
          .head = shape.head_size};
}

CudaMathAttention::HeadMatrix CudaMathAttention::Scores(const AttentionShape& shape,
                                                        Buffer scores) {
  const int64_t square = shape.length * shape.length;
  return {
      .first = scores, .stride = shape.length, .sequence = shape.heads * square, .head = square};
}

// cuBLASLt's batches have one stride, but heads and sequences have two. So the longer axis is the
// batch, and the other one is a loop.
void CudaMathAttention::Multiply(const AttentionShape& shape, const HeadMatrix& d, int64_t columns,
                                 const HeadMatrix& a, const HeadMatrix& b, int64_t inner,
                                 float alpha) {
  const bool by_head = shape.heads >= shape.sequences;
  const auto batch = [&](const HeadMatrix& m) { return by_head ? m.head : m.sequence; };
  const auto step = [&](const HeadMatrix& m) { return by_head ? m.sequence : m.head; };
  const auto operand = [&](const HeadMatrix& m, int64_t i) {
    return ProductOperand{.data = m.first.From(i * step(m)).data,
                          .type = CudaTypeOf(m.first.type),
                          .stride = m.stride,
                          .transposed = m.transposed,
                          .batch_stride = batch(m)};
  };
  const int64_t loops = by_head ? shape.sequences : shape.heads;
  for (int64_t i = 0; i < loops; ++i) {
    products_.Run({.m = shape.length,
                   .n = columns,
                   .k = inner,
                   .batch = by_head ? shape.heads : shape.sequences,
                   .a = operand(a, i),
                   .b = operand(b, i),
                   .d = d.first.From(i * step(d)).data,
                   .d_type = CudaTypeOf(d.first.type),
                   .d_stride = d.stride,
                   .d_batch_stride = batch(d),
                   .alpha = alpha,
                   .tf32 = tf32_ && a.first.type == DataType::kFloat32},
                  stream_);
  }
}

}  // namespace gp::engine
