// KernelChoices: how the CPU backend computes each matrix product of a run: which operand streams,
// how far k runs between two stores, how many columns are packed at a time, how threads share the
// output. A choice changes only the time: at one instruction-set level every element is one sum
// over ascending k, so its bits are the same for all choices. A run's record stores the choices
// anyway, so that all ranks compute in the same way. Values; thread-safe. Standard library only.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cpu/kernels/isa.h"

namespace gp::engine {

// The three products of a Linear layer: y = x w^T, dx = dy w, dw = dy^T x.
enum class GemmPass { kForward, kBackwardInput, kBackwardWeight };

// A product (m, n) = sum over k.
struct GemmProblem {
  GemmPass pass = GemmPass::kForward;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  DataType type = DataType::kFloat32;

  auto operator<=>(const GemmProblem&) const = default;
};

// The products of a layer of this size.
std::vector<GemmProblem> ProblemsOf(const LinearShape& shape, DataType type);

// Which operand is packed and read as vectors. The rows of the other one are read one after
// another.
enum class PackedOperand { kAuto, kSecond, kFirst };

// With 0 or kAuto, Gemm decides.
struct GemmChoice {
  PackedOperand packed = PackedOperand::kAuto;
  int depth = 0;    // 32-bit units of k between two stores of a tile
  int columns = 0;  // columns of the packed operand that stay in cache at a time
  int pieces = 0;   // ranges of rows that are divided among the threads

  auto operator<=>(const GemmChoice&) const = default;
};

class KernelChoices {
 public:
  // Without measurements: Gemm makes every decision from the sizes.
  static KernelChoices Default() { return {}; }
  // Reads what Encode wrote. Throws std::invalid_argument that names the entry.
  static KernelChoices Parse(const std::string& text);
  // Times candidates for each problem on `threads` threads, a few hundred milliseconds each.
  static KernelChoices Tune(std::span<const GemmProblem> problems, Isa isa, int threads);

  // One line per problem, sorted: "forward 256x50304x768 fp32: packed=first depth=256 columns=768
  // pieces=2".
  std::string Encode() const;

  void Set(const GemmProblem& problem, const GemmChoice& choice) { choices_[problem] = choice; }
  GemmChoice Of(const GemmProblem& problem) const;
  bool empty() const { return choices_.empty(); }

  friend bool operator==(const KernelChoices&, const KernelChoices&) = default;

 private:
  std::map<GemmProblem, GemmChoice> choices_;
};

}  // namespace gp::engine
