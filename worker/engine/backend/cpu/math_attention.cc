#include "worker/engine/backend/cpu/math_attention.h"

#include <cmath>

namespace gp::engine {
namespace {

float ScoreScale(const AttentionShape& shape) {
  return 1.0f / std::sqrt(static_cast<float>(shape.head_size));
}

// A matrix inside a buffer: `ld` elements from row to row.
struct Matrix {
  Buffer data;
  int64_t ld = 0;

  GemmOperand Rows() const { return {data, ld, true}; }      // (i, k)
  GemmOperand Columns() const { return {data, ld, false}; }  // (k, i)
};

// The matrices of one head of one sequence.
class HeadView {
 public:
  HeadView(const AttentionShape& shape, int64_t index)
      : shape_(shape), sequence_(index / shape.heads), head_(index % shape.heads), index_(index) {}

  // Part 0, 1 or 2 (q, k, v) of packed rows with `parts` parts: (T, D).
  Matrix Part(Buffer packed, int64_t part, int64_t parts) const {
    const int64_t ld = parts * shape_.channels();
    const int64_t offset =
        sequence_ * shape_.length * ld + part * shape_.channels() + head_ * shape_.head_size;
    return {packed.From(offset), ld};
  }
  // (T, T).
  Matrix Scores(Buffer scores) const {
    return {scores.From(index_ * shape_.length * shape_.length), shape_.length};
  }

 private:
  const AttentionShape& shape_;
  const int64_t sequence_;
  const int64_t head_;
  const int64_t index_;
};

// y (m, n) = a b^T over k.
GemmArgs Product(int64_t m, int64_t n, int64_t k, const GemmOperand& a, const GemmOperand& b,
                 const Matrix& y) {
  return {.m = m, .n = n, .k = k, .a = a, .b = b, .output = {.y = y.data, .ldy = y.ld}};
}

template <typename Body>
void ForEachHead(const AttentionShape& shape, Body body) {
  for (int64_t i = 0; i < shape.sequences * shape.heads; ++i) body(HeadView(shape, i));
}

int64_t ScoreRows(const AttentionShape& shape) {
  return shape.sequences * shape.heads * shape.length;
}

}  // namespace

void MathAttention::Forward(const StoredAttention& args, Buffer out) {
  const AttentionShape& s = args.shape;
  const int64_t t = s.length;
  const int64_t d = s.head_size;
  ForEachHead(s, [&](const HeadView& head) {
    gemm_.Run(Product(t, t, d, head.Part(args.qkv, 0, 3).Rows(), head.Part(args.qkv, 1, 3).Rows(),
                      head.Scores(args.probabilities)));
  });
  pool_.For(ScoreRows(s), 1, [&](int64_t first, int64_t last) {
    kernels_.causal_softmax(args.probabilities, t, ScoreScale(s), first, last);
  });
  const bool drops = args.dropout.probability > 0;
  if (drops) Drop(args);
  const Buffer weights = drops ? args.scratch : args.probabilities;
  ForEachHead(s, [&](const HeadView& head) {
    gemm_.Run(Product(t, d, t, head.Scores(weights).Rows(), head.Part(args.qkv, 2, 3).Columns(),
                      head.Part(out, 0, 1)));
  });
}

void MathAttention::Backward(const StoredAttention& args, Buffer dqkv, Buffer dout) {
  const AttentionShape& s = args.shape;
  const int64_t t = s.length;
  const int64_t d = s.head_size;
  const bool drops = args.dropout.probability > 0;
  if (drops) Drop(args);
  const Buffer weights = drops ? args.scratch : args.probabilities;
  ForEachHead(s, [&](const HeadView& head) {
    const Matrix g = head.Part(dout, 0, 1);
    gemm_.Run(Product(t, d, t, head.Scores(weights).Columns(), g.Columns(), head.Part(dqkv, 2, 3)));
    gemm_.Run(
        Product(t, t, d, g.Rows(), head.Part(args.qkv, 2, 3).Rows(), head.Scores(args.scratch)));
  });
  pool_.For(ScoreRows(s), 1, [&](int64_t first, int64_t last) {
    kernels_.causal_softmax_backward(args.scratch, args.probabilities, t, ScoreScale(s),
                                     args.dropout, first, last);
  });
  ForEachHead(s, [&](const HeadView& head) {
    const Matrix ds = head.Scores(args.scratch);
    gemm_.Run(
        Product(t, d, t, ds.Rows(), head.Part(args.qkv, 1, 3).Columns(), head.Part(dqkv, 0, 3)));
    gemm_.Run(
        Product(t, d, t, ds.Columns(), head.Part(args.qkv, 0, 3).Columns(), head.Part(dqkv, 1, 3)));
  });
}

// scratch = dropout(probabilities).
void MathAttention::Drop(const StoredAttention& args) {
  pool_.For(ScoreRows(args.shape), 1, [&](int64_t first, int64_t last) {
    kernels_.drop_probabilities(args.scratch, args.probabilities, args.shape.length, args.dropout,
                                first, last);
  });
}

}  // namespace gp::engine
