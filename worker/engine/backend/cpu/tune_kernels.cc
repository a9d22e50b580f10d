// Finds the fastest blocking of a matrix product on this machine. Every candidate is timed with the
// backend itself, in rounds, so that a disturbance of the machine affects all of them.
#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/backend/cpu/kernel_choices.h"

namespace gp::engine {
namespace {

constexpr int kRounds = 5;
// A candidate's time must be below this part of the default's; otherwise noise would decide.
constexpr double kWorthwhile = 0.97;

// The operands of one problem, in one backend's memory. The values do not matter: multiplying zeros
// takes as long.
class TimedProduct {
 public:
  TimedProduct(const GemmProblem& problem, Backend& memory)
      : problem_(problem),
        first_(Make(memory, problem.m * problem.k, problem.type)),
        second_(Make(memory, problem.n * problem.k, problem.type)),
        result_(Make(memory, problem.m * problem.n, ResultType())) {}

  void Run(Backend& backend) const {
    const GemmProblem& p = problem_;
    if (p.pass == GemmPass::kForward) {
      backend.Forward(
          LinearForward{.shape = {p.m, p.k, p.n}, .y = result_, .x = first_, .w = second_});
    } else if (p.pass == GemmPass::kBackwardInput) {
      backend.BackwardInput({.shape = {p.m, p.n, p.k}, .dx = result_, .dy = first_, .w = second_});
    } else {
      backend.BackwardWeight(
          {.shape = {p.k, p.n, p.m}, .dw = result_.f32(), .dy = first_, .x = second_});
    }
  }

 private:
  static Buffer Make(Backend& memory, int64_t count, DataType type) {
    return {memory.Allocate(count * BytesOf(type)), type};
  }
  DataType ResultType() const {
    return problem_.pass == GemmPass::kBackwardWeight ? DataType::kFloat32 : problem_.type;
  }

  const GemmProblem problem_;
  const Buffer first_;
  const Buffer second_;
  const Buffer result_;
};

std::vector<GemmChoice> Candidates(int threads) {
  std::vector<GemmChoice> candidates = {GemmChoice{}};
  for (const PackedOperand packed : {PackedOperand::kSecond, PackedOperand::kFirst}) {
    for (const int depth : {128, 256, 384, 768}) {
      for (int pieces = 1; pieces <= threads; pieces *= 2) {
        if (threads % pieces != 0) continue;
        candidates.push_back({.packed = packed, .depth = depth, .pieces = pieces});
      }
    }
  }
  return candidates;
}

double SecondsOf(const TimedProduct& product, Backend& backend) {
  const auto start = std::chrono::steady_clock::now();
  product.Run(backend);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One backend for each candidate, in their order.
std::vector<std::unique_ptr<Backend>> BackendsOf(const GemmProblem& problem,
                                                 std::span<const GemmChoice> candidates, Isa isa,
                                                 int threads) {
  std::vector<std::unique_ptr<Backend>> backends;
  for (const GemmChoice& candidate : candidates) {
    KernelChoices choices;
    choices.Set(problem, candidate);
    backends.push_back(
        MakeCpuBackend({.threads = threads, .isa = isa, .choices = std::move(choices)}));
  }
  return backends;
}

GemmChoice FastestFor(const GemmProblem& problem, Isa isa, int threads) {
  const std::vector<GemmChoice> candidates = Candidates(threads);
  const auto backends = BackendsOf(problem, candidates, isa, threads);
  const TimedProduct product(problem, *backends.front());
  std::vector<double> best(candidates.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      best[i] = std::min(best[i], SecondsOf(product, *backends[i]));
    }
  }
  const auto fastest = std::min_element(best.begin(), best.end()) - best.begin();
  return best[static_cast<size_t>(fastest)] < kWorthwhile * best[0]
             ? candidates[static_cast<size_t>(fastest)]
             : GemmChoice{};
}

}  // namespace

KernelChoices KernelChoices::Tune(std::span<const GemmProblem> problems, Isa isa, int threads) {
  KernelChoices choices;
  for (const GemmProblem& problem : problems) {
    choices.Set(problem, FastestFor(problem, isa, threads));
  }
  return choices;
}

}  // namespace gp::engine
