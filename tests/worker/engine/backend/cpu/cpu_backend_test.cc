// Goal: the bits of every operation depend neither on the number of threads nor on which of them
// lose their core.
#include "worker/engine/backend/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "worker/engine/backend/backend_fixture.h"

namespace gp::engine {
namespace {

// Odd sizes that are cut into many pieces.
constexpr int64_t kSequences = 3;
constexpr int64_t kTokens = 171;
constexpr int64_t kTokenRows = kSequences * kTokens;
constexpr int64_t kHeads = 5;
constexpr int64_t kModelWidth = 35 * kHeads;
constexpr int64_t kWide = 797;  // more columns than a block of fp32 products has of k

class Operations {
 public:
  Operations(Backend& backend, DataType type) : backend_(backend), type_(type) {}

  // The results of all operations, one after another.
  std::vector<float> Run() {
    Products();
    Rows();
    Attention();
    Sums();
    return std::move(results_);
  }

 private:
  void Products() {
    for (const LinearShape shape :
         {LinearShape{kTokenRows, kModelWidth, kWide}, LinearShape{kTokenRows, kWide, kModelWidth},
          LinearShape{5, 97, 901}}) {
      const auto [rows, in, out] = shape;
      Array x(RandomValues(rows * in, 1), type_);
      Array w(RandomValues(out * in, 2, 0.1f), type_);
      Array dy(RandomValues(rows * out, 3), type_);
      std::vector<float> y(static_cast<size_t>(rows * out));
      std::vector<float> dx(static_cast<size_t>(rows * in));
      std::vector<float> dw(static_cast<size_t>(out * in), 0.5f);
      std::vector<float> bias(static_cast<size_t>(out), 0.5f);
      backend_.Forward(
          LinearForward{.shape = shape, .y = F32(y), .x = x.buffer(), .w = w.buffer()});
      backend_.BackwardInput({.shape = shape, .dx = F32(dx), .dy = dy.buffer(), .w = w.buffer()});
      backend_.BackwardWeight({.shape = shape,
                               .dw = dw.data(),
                               .dbias = bias.data(),
                               .dy = dy.buffer(),
                               .x = x.buffer(),
                               .accumulate = true});
      for (const auto* result : {&y, &dx, &dw, &bias}) Keep(*result);
    }
  }

  void Rows() {
    Array in(RandomValues(kTokenRows * kModelWidth, 4), type_);
    Array gelu = Zeros(kTokenRows * kModelWidth, type_);
    std::vector<float> out(static_cast<size_t>(kTokenRows * kModelWidth));
    backend_.GeluForward(kTokenRows * kModelWidth, runspec::Gelu::kErf, gelu.buffer(), in.buffer());
    const Dropout dropout{.probability = 0.25, .seed = 7};
    backend_.Residual(kTokenRows, kModelWidth, F32(out), in.buffer(), in.buffer(), dropout);
    Keep(gelu);
    Keep(out);
  }

  void Attention() {
    const AttentionShape shape{kSequences, kTokens, kHeads, kModelWidth / kHeads};
    Array qkv(RandomValues(kTokenRows * 3 * kModelWidth, 5), type_);
    Array dout(RandomValues(kTokenRows * kModelWidth, 6), type_);
    Array out = Zeros(kTokenRows * kModelWidth, type_);
    Array dqkv = Zeros(kTokenRows * 3 * kModelWidth, type_);
    std::vector<float> lse(static_cast<size_t>(kTokenRows * kHeads));
    backend_.AttentionForward(shape, out.buffer(), lse.data(), qkv.buffer(), Dropout{});
    backend_.AttentionBackward(shape, dqkv.buffer(), dout.buffer(), out.buffer(), lse.data(),
                               qkv.buffer(), Dropout{});
    Keep(lse);
    Keep(dqkv);
  }

  void Sums() {
    const std::vector<float> values = RandomValues(100'003, 8);
    results_.push_back(
        static_cast<float>(backend_.SumOfSquares(values.data(), std::ssize(values))));
    std::vector<float> sum(values.size());
    backend_.Axpby(std::ssize(values), sum.data(), 2, values.data(), 3, values.data());
    Keep(sum);
  }

  void Keep(const Array& values) {
    for (int64_t i = 0; i < values.size(); ++i) results_.push_back(values.at(i));
  }
  static Buffer F32(std::vector<float>& values) { return {values.data(), DataType::kFloat32}; }
  void Keep(const std::vector<float>& values) {
    results_.insert(results_.end(), values.begin(), values.end());
  }

  Backend& backend_;
  const DataType type_;
  std::vector<float> results_;
};

std::vector<float> ResultsOf(Isa isa, DataType type, int threads) {
  const auto backend = MakeTestBackend(isa, threads);
  return Operations(*backend, type).Run();
}

// Threads that compute all the time, so that those of a backend lose their cores.
class Competitors {
 public:
  Competitors() {
    for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) {
      threads_.emplace_back([this] {
        while (!stop_) continue;
      });
    }
  }
  ~Competitors() { stop_ = true; }

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::jthread> threads_;
};

TEST(CpuBackend, HasTheSameBitsForAnyThreadsAndBesideCompetitors) {
  for (const Isa isa : SupportedIsas()) {
    for (const DataType type : {DataType::kFloat32, DataType::kBfloat16}) {
      SCOPED_TRACE(IsaName(isa));
      const std::vector<float> expected = ResultsOf(isa, type, 1);
      for (const int threads : {2, 3, 7}) {
        EXPECT_TRUE(ResultsOf(isa, type, threads) == expected) << threads << " threads";
      }
      const Competitors competitors;
      for (const int threads : {1, 2, 3}) {
        EXPECT_TRUE(ResultsOf(isa, type, threads) == expected) << threads << " threads, beside";
      }
    }
  }
}

}  // namespace
}  // namespace gp::engine
