// Goal: Muon equals its formula in fp64 over several steps, for wide, tall and square matrices, in
// each version of its arithmetic, with AdamW for all other tensors; its update has singular values
// near 1; it gives the same bits for any number of threads and for any division over ranks.
#include "worker/engine/optim/muon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/collectives/rank_threads.h"
#include "worker/engine/model/make_language_model.h"
#include "worker/engine/optim/adamw.h"
#include "worker/engine/optim/fp64_factor.h"

namespace gp::engine {
namespace {

using ::testing::HasSubstr;

runspec::ModelShape SmallShape() {
  runspec::ModelShape shape{.layers = 2, .heads = 1, .channels = 11, .context = 9};
  shape.vocabulary = shape.vocabulary_padded = 17;
  return shape;
}

runspec::OptimizerSpec MuonSpec() {
  runspec::OptimizerSpec spec{.kind = runspec::OptimizerKind::kMuon, .lr = 3e-3};
  spec.muon_lr = 0.02;
  spec.muon_momentum = 0.9;
  spec.weight_decay = 0.1;
  return spec;
}

using Factor = Values (*)(Values x, int64_t rows, int64_t columns);

class Fp64Muon {
 public:
  Fp64Muon(std::span<const float> weight, int64_t rows, int64_t columns, Factor factor)
      : rows_(rows),
        columns_(columns),
        factor_(factor),
        weight_(weight.begin(), weight.end()),
        m_(weight_.size()) {}

  void Step(std::span<const float> gradient, double lr, double coefficient,
            const runspec::OptimizerSpec& spec) {
    Values direction(m_.size());
    for (size_t i = 0; i < m_.size(); ++i) {
      const double added = (1 - spec.muon_momentum) * coefficient * gradient[i];
      m_[i] = spec.muon_momentum * m_[i] + added;
      direction[i] = spec.muon_momentum * m_[i] + added;
    }
    direction = factor_(direction, rows_, columns_);
    const double scale = std::sqrt(std::max(1.0, static_cast<double>(rows_) / columns_));
    for (size_t i = 0; i < m_.size(); ++i) {
      weight_[i] = weight_[i] * (1 - lr * spec.weight_decay) - lr * scale * direction[i];
    }
  }
  const Values& weight() const { return weight_; }

 private:
  int64_t rows_, columns_;
  Factor factor_;
  Values weight_, m_;
};

std::vector<float> RandomGradients(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// A part of a tensor that Muon takes for a matrix of its own.
struct Part {
  int64_t offset, rows, columns;
};

// The matrices of the blocks; in version 2, c_attn is three matrices.
std::vector<Part> MatricesOf(const runspec::ParameterLayout& layout, int numerics) {
  std::vector<Part> parts;
  for (const runspec::ParameterInfo& tensor : layout.tensors) {
    if (tensor.shape.size() != 2 || !tensor.name.starts_with("h.")) continue;
    const int64_t count = numerics == 2 && tensor.name.ends_with("c_attn.weight") ? 3 : 1;
    const int64_t rows = tensor.shape[0] / count;
    for (int64_t i = 0; i < count; ++i) {
      parts.push_back({tensor.offset + i * rows * tensor.shape[1], rows, tensor.shape[1]});
    }
  }
  return parts;
}

void ExpectFormula(int numerics, Factor factor) {
  const runspec::OptimizerSpec spec = MuonSpec();
  const auto model = MakeLanguageModel({.shape = SmallShape(), .micro_batch = 1, .sequence = 4});
  const auto other = MakeLanguageModel({.shape = SmallShape(), .micro_batch = 1, .sequence = 4});
  InitializeNormal(1, *model);
  InitializeNormal(1, *other);
  const auto muon =
      MakeOptimizer(model->backend(), model->shape(), model->layout(), {.spec = spec});
  ASSERT_EQ(muon->ContinueWith(numerics), "");
  AdamW adamw(other->backend(), other->layout(), {.spec = spec});
  const auto values = [](std::span<float> all, const Part& part) {
    return all.subspan(static_cast<size_t>(part.offset),
                       static_cast<size_t>(part.rows * part.columns));
  };
  const std::vector<Part> parts = MatricesOf(model->layout(), numerics);
  std::vector<Fp64Muon> expected;
  for (const Part& part : parts) {
    expected.emplace_back(values(model->parameters(), part), part.rows, part.columns, factor);
  }
  for (unsigned step = 0; step < 6; ++step) {
    const double schedule = 1.0 / (1 + step);
    std::vector<float> gradients = RandomGradients(model->parameters().size(), 10 + step);
    for (size_t i = 0; i < parts.size(); ++i) {
      expected[i].Step(values(gradients, parts[i]), spec.muon_lr * schedule, 0.5, spec);
    }
    std::vector<float> copy = gradients;
    const float half = 0.5f;
    muon->Update(*model, gradients, spec.lr * schedule, &half);
    adamw.Update(*other, copy, spec.lr * schedule, &half);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::span<float> has = values(model->parameters(), parts[i]);
    for (size_t j = 0; j < has.size(); ++j) {
      // The iteration amplifies the fp32 rounding errors of small singular values.
      ASSERT_NEAR(has[j], expected[i].weight()[j], 2e-5) << "matrix " << i << " " << j;
    }
    std::ranges::copy(has, values(other->parameters(), parts[i]).begin());
  }
  for (const runspec::ParameterInfo& tensor : model->layout().tensors) {
    const Part whole{tensor.offset, tensor.count, 1};
    EXPECT_TRUE(
        std::ranges::equal(values(model->parameters(), whole), values(other->parameters(), whole)))
        << tensor.name;
  }
}

TEST(Muon, EqualsItsFormulaAndLeavesTheRestToAdamW) { ExpectFormula(2, &PolarExpressFp64); }

TEST(Muon, EqualsItsFirstFormulaAfterAnOldCheckpoint) { ExpectFormula(1, &NewtonSchulzFp64); }

TEST(Muon, KnowsTheVersionsOfItsArithmetic) {
  const auto model = MakeLanguageModel({.shape = SmallShape(), .micro_batch = 1, .sequence = 4});
  const auto muon =
      MakeOptimizer(model->backend(), model->shape(), model->layout(), {.spec = MuonSpec()});
  EXPECT_EQ(muon->numerics(), 2);
  EXPECT_THAT(muon->ContinueWith(3), HasSubstr("version 3 of the optimizer's arithmetic"));
  EXPECT_THAT(muon->ContinueWith(0), HasSubstr("version 0"));
  EXPECT_EQ(muon->numerics(), 2);
  EXPECT_EQ(muon->ContinueWith(1), "");
  EXPECT_EQ(muon->numerics(), 1);
}

TEST(Muon, RefusesOptionsThatItsFirstArithmeticDoesNotHave) {
  const auto model = MakeLanguageModel({.shape = SmallShape(), .micro_batch = 1, .sequence = 4});
  for (const bool rows : {false, true}) {
    runspec::OptimizerSpec spec = MuonSpec();
    spec.muon_row_scaling = rows;
    spec.muon_cautious_decay = !rows;
    const auto muon =
        MakeOptimizer(model->backend(), model->shape(), model->layout(), {.spec = spec});
    EXPECT_THAT(muon->ContinueWith(1), HasSubstr("optimizer.muon_row_scaling"));
    EXPECT_EQ(muon->ContinueWith(2), "");
  }
}

// Weights and moments of a larger model after three steps on one rank of `group`.
std::vector<float> StateAfterSteps(int threads, const OptimizerGroup& group,
                                   const runspec::OptimizerSpec& spec = MuonSpec()) {
  runspec::ModelShape shape{.layers = 3, .heads = 2, .channels = 52, .context = 9};
  shape.vocabulary = shape.vocabulary_padded = 17;
  const auto model =
      MakeLanguageModel({.shape = shape, .micro_batch = 1, .sequence = 4, .threads = threads});
  InitializeNormal(1, *model);
  const auto muon = MakeOptimizer(model->backend(), model->shape(), model->layout(),
                                  {.spec = spec, .group = group});
  for (unsigned step = 0; step < 3; ++step) {
    std::vector<float> gradients = RandomGradients(model->parameters().size(), 10 + step);
    const float one = 1;
    muon->Update(*model, gradients, 3e-3, &one);
  }
  std::vector<float> state(model->parameters().begin(), model->parameters().end());
  for (const std::span<float> moment : {muon->first_moment(), muon->second_moment()}) {
    state.insert(state.end(), moment.begin(), moment.end());
  }
  return state;
}

runspec::OptimizerSpec WithOptions() {
  runspec::OptimizerSpec spec = MuonSpec();
  spec.muon_row_scaling = true;
  spec.muon_cautious_decay = true;
  return spec;
}

TEST(Muon, GivesTheSameBitsForAnyNumberOfThreads) {
  const std::vector<float> alone = StateAfterSteps(1, {});
  for (const int threads : {2, 3, 5}) EXPECT_EQ(StateAfterSteps(threads, {}), alone) << threads;
}

void ExpectTheSameOnRanks(const runspec::OptimizerSpec& spec) {
  const std::vector<float> alone = StateAfterSteps(1, {}, spec);
  for (const int ranks : {2, 3, 30}) {
    auto group = MakeLocalGroup(ranks, 32);
    OnEachRank(group, [&](size_t rank) {
      const auto broadcast = [&](std::span<float> values, int root) {
        group[rank]->Broadcast(std::as_writable_bytes(values), root);
      };
      EXPECT_EQ(StateAfterSteps(2, {static_cast<int>(rank), ranks, broadcast}, spec), alone)
          << rank << " of " << ranks;
    });
  }
}

TEST(Muon, GivesTheSameBitsWhenRanksDivideTheMatrices) { ExpectTheSameOnRanks(MuonSpec()); }

TEST(Muon, AlsoWithItsOptions) {
  ExpectTheSameOnRanks(WithOptions());
  EXPECT_NE(StateAfterSteps(1, {}, WithOptions()), StateAfterSteps(1, {}));
}

// The squared norm of an orthogonal (m, n) matrix is min(m, n). The iterations leave singular
// values between 0.5 and 1.5.
TEST(Muon, MovesByAMatrixWithSingularValuesNearOne) {
  runspec::OptimizerSpec spec = MuonSpec();
  spec.weight_decay = 0;
  const auto model = MakeLanguageModel({.shape = SmallShape(), .micro_batch = 1, .sequence = 4});
  const auto muon =
      MakeOptimizer(model->backend(), model->shape(), model->layout(), {.spec = spec});
  std::vector<float> gradients = RandomGradients(model->parameters().size(), 3);
  const float one = 1;
  muon->Update(*model, gradients, spec.lr, &one);
  for (const char* name : {"h.0.attn.c_attn.weight", "h.1.mlp.c_proj.weight"}) {
    const runspec::ParameterInfo& tensor = model->layout().at(name);
    const double ratio =
        static_cast<double>(tensor.shape[0]) / static_cast<double>(tensor.shape[1]);
    double squares = 0;
    for (int64_t i = 0; i < tensor.count; ++i) {
      const double moved = model->parameters()[static_cast<size_t>(tensor.offset + i)];
      squares += std::pow(moved / spec.muon_lr, 2) / std::max(1.0, ratio);
    }
    EXPECT_GT(squares, 0.5 * 11) << name;
    EXPECT_LT(squares, 1.5 * 11) << name;
  }
}

}  // namespace
}  // namespace gp::engine
