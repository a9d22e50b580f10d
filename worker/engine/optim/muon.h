// Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon) for the matrices of the
// blocks, AdamW for embeddings, head, norms and biases. A matrix moves along its Nesterov momentum,
// orthogonalised by five Newton-Schulz iterations in fp32:
//   X := X / |X|;  five times A = X X^T, X := 3.4445 X + (-4.7750 A + 2.0315 A A) X
//   W := (1 - lr weight_decay) W - lr sqrt(max(1, rows / columns)) X
// with lr = muon_lr * (the scheduled rate / optimizer.lr). The momentum is kept in first_moment;
// second_moment stays 0 there. Every rank computes every matrix. One thread calls.
#pragma once

#include <vector>

#include "worker/engine/optim/optimizer.h"

namespace gp::engine {

class Muon final : public Optimizer {
 public:
  Muon(Backend& backend, const runspec::ModelShape& shape, const runspec::ParameterLayout& layout,
       const OptimizerOptions& options);

  // The Newton-Schulz iterations need norms on the host anyway, so Update waits for the factor.
  bool TakesFactorByValue() const override { return true; }

 private:
  struct Matrix {
    int64_t first = 0;  // element of the flat buffers
    int64_t rows = 0;
    int64_t columns = 0;
    int64_t count() const { return rows * columns; }
  };
  void Apply(const Step& step) override;
  void UpdateMatrix(const Step& step, const Matrix& matrix);
  void Orthogonalize(const Matrix& matrix);
  void Iterate(const Matrix& matrix);

  std::vector<Matrix> matrices_;
  const std::vector<Range> ranges_;  // for AdamW
  float* update_;                    // X
  float* product_;                   // X times a polynomial of A
  float* square_;                    // A
  float* polynomial_;                // of A
};

}  // namespace gp::engine
