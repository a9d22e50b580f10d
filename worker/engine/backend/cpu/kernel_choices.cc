#include "worker/engine/backend/cpu/kernel_choices.h"

#include <array>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace gp::engine {
namespace {

// In the order of the enumerators.
constexpr std::array<const char*, 3> kPassNames = {"forward", "backward_input", "backward_weight"};
constexpr std::array<const char*, 2> kTypeNames = {"fp32", "bf16"};
constexpr std::array<const char*, 3> kPackedNames = {"auto", "second", "first"};
constexpr int kDepthMax = 1024;
constexpr int kColumnsMax = 3072;

template <typename Enum, size_t kCount>
const char* NameOf(const std::array<const char*, kCount>& names, Enum value) {
  return names[static_cast<size_t>(value)];
}

template <typename Enum, size_t kCount>
bool FromName(const std::array<const char*, kCount>& names, std::string_view name, Enum& value) {
  for (size_t i = 0; i < kCount; ++i) {
    if (name != names[i]) continue;
    value = static_cast<Enum>(i);
    return true;
  }
  return false;
}

std::string EncodeEntry(const GemmProblem& p, const GemmChoice& c) {
  std::ostringstream line;
  line << NameOf(kPassNames, p.pass) << ' ' << p.m << 'x' << p.n << 'x' << p.k << ' '
       << NameOf(kTypeNames, p.type) << ": packed=" << NameOf(kPackedNames, c.packed)
       << " depth=" << c.depth << " columns=" << c.columns << " pieces=" << c.pieces << '\n';
  return line.str();
}

bool InRange(const GemmProblem& p, const GemmChoice& c) {
  return p.m > 0 && p.n > 0 && p.k > 0 && c.depth >= 0 && c.depth <= kDepthMax &&
         c.depth % 16 == 0 && c.columns >= 0 && c.columns <= kColumnsMax && c.pieces >= 0;
}

bool ParseEntry(const std::string& line, GemmProblem& p, GemmChoice& c) {
  char pass[24];
  char type[8];
  char packed[8];
  long m = 0;
  long n = 0;
  long k = 0;
  int end = 0;
  const int fields =
      std::sscanf(line.c_str(),
                  "%23s %ldx%ldx%ld %4[a-z0-9]: packed=%7s depth=%d columns=%d "
                  "pieces=%d%n",
                  pass, &m, &n, &k, type, packed, &c.depth, &c.columns, &c.pieces, &end);
  p.m = m;
  p.n = n;
  p.k = k;
  return fields == 9 && line.size() == static_cast<size_t>(end) &&
         FromName(kPassNames, pass, p.pass) && FromName(kTypeNames, type, p.type) &&
         FromName(kPackedNames, packed, c.packed) && InRange(p, c);
}

}  // namespace

std::vector<GemmProblem> ProblemsOf(const LinearShape& s, DataType type) {
  return {{GemmPass::kForward, s.rows, s.out, s.in, type},
          {GemmPass::kBackwardInput, s.rows, s.in, s.out, type},
          {GemmPass::kBackwardWeight, s.out, s.in, s.rows, type}};
}

KernelChoices KernelChoices::Parse(const std::string& text) {
  KernelChoices choices;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    GemmProblem problem;
    GemmChoice choice;
    if (!ParseEntry(line, problem, choice)) {
      throw std::invalid_argument(
          "kernel choices: cannot read the entry '" + line +
          "'; expected '<forward|backward_input|backward_weight> MxNxK <fp32|bf16>: "
          "packed=<auto|second|first> depth=<0 to 1024, by 16> columns=<0 to 3072> pieces=<0 up>'; "
          "'gp-bench tune' writes a new file");
    }
    if (!choices.choices_.emplace(problem, choice).second) {
      throw std::invalid_argument("kernel choices: the entry '" + line +
                                  "' repeats the problem of an earlier entry; remove one");
    }
  }
  return choices;
}

std::string KernelChoices::Encode() const {
  std::string text;
  for (const auto& [problem, choice] : choices_) text += EncodeEntry(problem, choice);
  return text;
}

GemmChoice KernelChoices::Of(const GemmProblem& problem) const {
  const auto found = choices_.find(problem);
  return found == choices_.end() ? GemmChoice{} : found->second;
}

}  // namespace gp::engine
