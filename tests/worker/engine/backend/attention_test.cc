// Goal: attention equals a plain softmax for lengths around the tile of 64 queries, forward and
// backward, with every instruction set; a position never depends on later positions.
#include <gtest/gtest.h>

#include "worker/engine/backend/backend_fixture.h"
#include "worker/engine/backend/dropout_key.h"

namespace gp::engine {
namespace {

const Dropout kDropout{.probability = 0.25, .seed = 3, .step = 9, .site = 4};

double MaskAt(const Dropout& dropout, int64_t row, int64_t column) {
  if (dropout.probability <= 0) return 1;
  const uint64_t key = DropoutRowKey(DropoutSiteKey(dropout), static_cast<uint64_t>(row));
  const bool kept = DropoutHash(key, static_cast<uint32_t>(column)) >= DropoutThreshold(dropout);
  return kept ? DropoutScale(dropout) : 0;
}

// Reference: the plain algorithm in fp64, one head at a time.
class PlainAttention {
 public:
  PlainAttention(const AttentionShape& shape, const std::vector<float>& qkv, const Dropout& dropout)
      : shape_(shape), qkv_(qkv), dropout_(dropout) {}

  // Computes the output with dropout for every position, and the gradient of sum(out * dout).
  void Run(const std::vector<float>& dout, std::vector<double>& out, std::vector<double>& dqkv) {
    out.assign(qkv_.size() / 3, 0);
    dqkv.assign(qkv_.size(), 0);
    for (int64_t b = 0; b < shape_.sequences; ++b) {
      for (int64_t h = 0; h < shape_.heads; ++h) {
        for (int64_t i = 0; i < shape_.length; ++i) Query(b, h, i, dout, out, dqkv);
      }
    }
  }

 private:
  size_t At(int64_t b, int64_t t, int64_t part, int64_t h, int64_t d) const {
    return static_cast<size_t>(((b * shape_.length + t) * 3 + part) * shape_.channels() +
                               h * shape_.head_size + d);
  }

  void Query(int64_t b, int64_t h, int64_t i, const std::vector<float>& dout,
             std::vector<double>& out, std::vector<double>& dqkv) const {
    const double scale = 1 / std::sqrt(static_cast<double>(shape_.head_size));
    std::vector<double> p;
    double sum = 0;
    for (int64_t j = 0; j <= i; ++j) {
      double score = 0;
      for (int64_t d = 0; d < shape_.head_size; ++d) {
        score += double{qkv_[At(b, i, 0, h, d)]} * qkv_[At(b, j, 1, h, d)];
      }
      p.push_back(std::exp(score * scale));
      sum += p.back();
    }
    std::vector<double> dp(p.size());
    double dot = 0;
    const int64_t row = (b * shape_.heads + h) * shape_.length + i;
    for (int64_t j = 0; j <= i; ++j) {
      const auto k = static_cast<size_t>(j);
      p[k] /= sum;
      const double mask = MaskAt(dropout_, row, j);
      for (int64_t d = 0; d < shape_.head_size; ++d) {
        const size_t at = static_cast<size_t>((b * shape_.length + i) * shape_.channels() +
                                              h * shape_.head_size + d);
        out[at] += p[k] * mask * qkv_[At(b, j, 2, h, d)];
        dp[k] += mask * dout[at] * qkv_[At(b, j, 2, h, d)];
        dqkv[At(b, j, 2, h, d)] += p[k] * mask * dout[at];
      }
      dot += p[k] * dp[k];
    }
    for (int64_t j = 0; j <= i; ++j) {
      const auto k = static_cast<size_t>(j);
      const double ds = p[k] * (dp[k] - dot) * scale;
      for (int64_t d = 0; d < shape_.head_size; ++d) {
        dqkv[At(b, i, 0, h, d)] += ds * qkv_[At(b, j, 1, h, d)];
        dqkv[At(b, j, 1, h, d)] += ds * qkv_[At(b, i, 0, h, d)];
      }
    }
  }

  const AttentionShape shape_;
  const std::vector<float>& qkv_;
  const Dropout dropout_;
};

std::vector<float> Values(const Array& array) {
  std::vector<float> values;
  for (int64_t i = 0; i < array.size(); ++i) values.push_back(array.at(i));
  return values;
}

// The inputs and results of one attention, forward and backward.
struct Operands {
  Operands(const AttentionShape& sizes, DataType type)
      : shape(sizes),
        values(shape.sequences * shape.length * shape.channels()),
        qkv(RandomValues(3 * values, 1), type),
        dout(RandomValues(values, 2), type),
        out(Zeros(values, type)),
        dqkv(Zeros(3 * values, type)) {}

  AttentionShape shape;
  int64_t values;
  Array qkv;
  Array dout;
  Array out;
  Array dqkv;
};

void RunFlash(Backend& backend, const Dropout& dropout, Operands& o) {
  std::vector<float> lse(static_cast<size_t>(o.shape.sequences * o.shape.heads * o.shape.length));
  backend.AttentionForward(o.shape, o.out.buffer(), lse.data(), o.qkv.buffer(), dropout);
  backend.AttentionBackward(o.shape, o.dqkv.buffer(), o.dout.buffer(), o.out.buffer(), lse.data(),
                            o.qkv.buffer(), dropout);
}

void RunStored(Backend& backend, const Dropout& dropout, Operands& o) {
  const int64_t scores = o.shape.sequences * o.shape.heads * o.shape.length * o.shape.length;
  Array probabilities(RandomValues(scores, 3), o.qkv.buffer().type);
  Array scratch(RandomValues(scores, 4), o.qkv.buffer().type);
  const StoredAttention args{o.shape, o.qkv.buffer(), probabilities.buffer(), scratch.buffer(),
                             dropout};
  backend.Forward(args, o.out.buffer());
  backend.Backward(args, o.dqkv.buffer(), o.dout.buffer());
}

using RunAttention = void (*)(Backend& backend, const Dropout& dropout, Operands& operands);

void ExpectEqualsPlain(RunAttention run, Isa isa, DataType type, const AttentionShape& shape,
                       const Dropout& dropout) {
  const auto backend = MakeCpuBackend(
      {.threads = 2, .isa = isa, .sequence = shape.length, .head_size = shape.head_size});
  Operands operands(shape, type);
  run(*backend, dropout, operands);
  const int64_t values = operands.values;
  const std::vector<float> inputs = Values(operands.qkv);
  const std::vector<float> gradients = Values(operands.dout);
  std::vector<double> expected_out;
  std::vector<double> expected_dqkv;
  PlainAttention(shape, inputs, dropout).Run(gradients, expected_out, expected_dqkv);
  for (int64_t i = 0; i < values; ++i) {
    ASSERT_NEAR(operands.out.at(i), expected_out[static_cast<size_t>(i)], ToleranceOf(type, 2))
        << i;
  }
  // In bf16, the rounding errors of `out` over all keys enter the gradients.
  const double tolerance = type == DataType::kFloat32 ? 5e-5 : 0.1;
  for (int64_t i = 0; i < 3 * values; ++i) {
    ASSERT_NEAR(operands.dqkv.at(i), expected_dqkv[static_cast<size_t>(i)], tolerance) << i;
  }
}

void ExpectEqualsPlainOnEveryIsa(RunAttention run) {
  for (const Isa isa : SupportedIsas()) {
    SCOPED_TRACE(IsaName(isa));
    for (const int64_t length : {1, 7, 64, 65, 130}) {
      SCOPED_TRACE(length);
      ExpectEqualsPlain(run, isa, DataType::kFloat32, {2, length, 3, 11}, Dropout{});
      ExpectEqualsPlain(run, isa, DataType::kFloat32, {1, length, 2, 40}, kDropout);
    }
    ExpectEqualsPlain(run, isa, DataType::kBfloat16, {2, 65, 3, 11}, kDropout);
    ExpectEqualsPlain(run, isa, DataType::kBfloat16, {1, 24, 2, 12}, Dropout{});
  }
}

TEST(Attention, EqualsThePlainSoftmax) { ExpectEqualsPlainOnEveryIsa(RunFlash); }

TEST(Attention, WithStoredProbabilitiesEqualsThePlainSoftmax) {
  ExpectEqualsPlainOnEveryIsa(RunStored);
}

// From 256 positions on, level amx multiplies bf16 by tiles.
TEST(Attention, OfLongSequencesInBf16EqualsThePlainSoftmax) {
  for (const Isa isa : SupportedIsas()) {
    SCOPED_TRACE(IsaName(isa));
    ExpectEqualsPlain(RunFlash, isa, DataType::kBfloat16, {1, 256, 2, 64}, Dropout{});
    ExpectEqualsPlain(RunFlash, isa, DataType::kBfloat16, {1, 321, 1, 40}, kDropout);
    ExpectEqualsPlain(RunFlash, isa, DataType::kBfloat16, {2, 257, 1, 11}, kDropout);
    ExpectEqualsPlain(RunFlash, isa, DataType::kBfloat16, {1, 258, 1, 1}, Dropout{});
  }
}

TEST(Attention, ByTilesOfAPositionHasTheSameBitsWhateverFollows) {
  if (!IsaSupported(Isa::kAmx)) GTEST_SKIP() << "this processor has no AVX-512";
  const auto backend =
      MakeCpuBackend({.threads = 3, .isa = Isa::kAmx, .sequence = 400, .head_size = 20});
  const auto run = [&](int64_t length) {
    const AttentionShape shape{1, length, 2, 20};
    Array qkv(RandomValues(3 * length * 40, 5), DataType::kBfloat16);
    std::vector<float> out(static_cast<size_t>(length * 40));
    std::vector<float> lse(static_cast<size_t>(2 * length));
    backend->AttentionForward(shape, {out.data(), DataType::kFloat32}, lse.data(), qkv.buffer(),
                              Dropout{});
    return out;
  };
  const std::vector<float> whole = run(400);
  for (const int64_t length : {256, 257, 300, 384}) {
    const std::vector<float> prefix = run(length);
    EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), whole.begin())) << length;
  }
}

TEST(Attention, OfAPositionHasTheSameBitsWhateverFollows) {
  const auto backend = MakeTestBackend(Isa::kAuto, 3);
  const auto run = [&](int64_t length) {
    const AttentionShape shape{1, length, 2, 12};
    std::vector<float> qkv = RandomValues(3 * length * 24, 5);
    std::vector<float> out(static_cast<size_t>(length * 24));
    std::vector<float> lse(static_cast<size_t>(2 * length));
    backend->AttentionForward(shape, {out.data(), DataType::kFloat32}, lse.data(),
                              {qkv.data(), DataType::kFloat32}, Dropout{});
    return out;
  };
  const std::vector<float> whole = run(150);
  for (const int64_t length : {1, 30, 64, 101}) {
    const std::vector<float> prefix = run(length);
    EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), whole.begin())) << length;
  }
}

}  // namespace
}  // namespace gp::engine
