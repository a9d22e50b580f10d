// CudaMathAttention: attention with stored probabilities, as batched matrix products around a
// softmax. Every GPU can compute it. The other kinds are checked against it, and `attention: math`
// selects it. Belongs to the backend. One thread calls.
#pragma once

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cuda/products/cublas_lt.h"

namespace gp::engine {

class CudaMathAttention {
 public:
  // `products` and `stream` must outlive this object. `tf32` applies to fp32 tensors.
  CudaMathAttention(CublasLt& products, cudaStream_t stream, bool tf32)
      : products_(products), stream_(stream), tf32_(tf32) {}

  // Like Backend's operations with the same arguments.
  void Forward(const StoredAttention& args, Buffer out);
  void Backward(const StoredAttention& args, Buffer dqkv, Buffer dout);

 private:
  // A (T, D) or (T, T) matrix of every sequence and head.
  struct HeadMatrix {
    Buffer first;
    int64_t stride = 0;    // elements from one row to the next
    int64_t sequence = 0;  // elements from one sequence to the next
    int64_t head = 0;      // elements from one head to the next
    bool transposed = false;
  };

  static HeadMatrix Packed(const AttentionShape& shape, Buffer qkv, int64_t part);
  static HeadMatrix Plain(const AttentionShape& shape, Buffer rows);
  static HeadMatrix Scores(const AttentionShape& shape, Buffer scores);
  static HeadMatrix Transposed(HeadMatrix matrix) {
    matrix.transposed = !matrix.transposed;
    return matrix;
  }

  // d = alpha * a b for every sequence and head; `inner` is the summed axis.
  void Multiply(const AttentionShape& shape, const HeadMatrix& d, int64_t columns,
                const HeadMatrix& a, const HeadMatrix& b, int64_t inner, float alpha);

  CublasLt& products_;
  const cudaStream_t stream_;
  const bool tf32_;
};

}  // namespace gp::engine
