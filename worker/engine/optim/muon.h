// Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon) for the matrices of the
// blocks, AdamW for embeddings, head, norms and biases. A matrix W moves along its Nesterov
// momentum, replaced by its orthogonal factor X (orthogonal_factor.h):
//   W := (1 - lr weight_decay) W - lr sqrt(max(1, rows / columns)) X
// with lr = muon_lr * (the scheduled rate / optimizer.lr). The momentum is kept in first_moment;
// second_moment stays 0 there, unless muon_row_scaling uses it (matrix_options.h).
//
// Numerics 2: PolarExpress; the query, key and value parts of c_attn are matrices of their own.
// Matrices are divided over the threads, and over the ranks of OptimizerOptions::group, each of
// which then sends the others its new weights; the bits depend on neither.
// Numerics 1, which older checkpoints continue with: NewtonSchulz, c_attn is one matrix, every rank
// computes every matrix, and there is neither muon_row_scaling nor muon_cautious_decay.
//
// One thread calls.
#pragma once

#include <string>
#include <vector>

#include "worker/engine/optim/optimizer.h"
#include "worker/engine/optim/orthogonal_factor.h"

namespace gp::engine {

class Muon final : public Optimizer {
 public:
  static constexpr int kNumerics = 2;

  Muon(Backend& backend, const runspec::ModelShape& shape, const runspec::ParameterLayout& layout,
       const OptimizerOptions& options);

  int numerics() const override { return numerics_; }
  std::string ContinueWith(int64_t numerics) override;
  // The orthogonal factor needs norms on the host anyway, so Update waits for the gradient factor.
  bool TakesFactorByValue() const override { return true; }

 private:
  // A weight, or a part of its rows, by its place in the flat buffers.
  struct Weight {
    int64_t first = 0;
    int64_t rows = 0;
    int64_t columns = 0;
    int rank = 0;  // that updates it

    int64_t count() const { return rows * columns; }
  };

  struct LaneMemory {
    float* update = nullptr;  // the matrix that becomes X
    OrthogonalScratch scratch;
  };

  void FindWeights();
  void DivideOverRanks();
  LaneMemory MemoryOf(int lane) const;

  void Apply(const Step& step) override;
  void UpdateWeight(Backend& lane, const LaneMemory& memory, const Step& step,
                    const Weight& weight);
  void ExchangeWeights(const Step& step);
  void Exchange(std::span<float> values);

  const runspec::ParameterLayout layout_;
  const int64_t matrix_floats_;  // of a lane's two matrices
  const int64_t square_floats_;
  const int64_t lane_floats_;
  int numerics_ = kNumerics;
  std::vector<Weight> weights_;      // in the order of the buffers
  std::vector<size_t> by_size_;      // indices of weights_, the largest first
  const std::vector<Range> ranges_;  // for AdamW
  float* const scratch_;             // (lanes, lane_floats_)
};

}  // namespace gp::engine
