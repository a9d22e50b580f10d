#include "worker/engine/backend/cpu/kernels/isa.h"

#include <array>
#include <stdexcept>

namespace gp::engine {
namespace {

constexpr std::array kLevels = {Isa::kAuto,   Isa::kGeneric,    Isa::kAvx2,
                                Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx};

bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}

}  // namespace

bool IsaSupported(Isa isa) {
  switch (isa) {
    case Isa::kAuto:
    case Isa::kGeneric:
      return true;
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    case Isa::kAvx512:
    case Isa::kAmx:
      return HasAvx512();
    case Isa::kAvx512Bf16:
      return HasAvx512() && __builtin_cpu_supports("avx512bf16") != 0;
  }
  return false;
}

Isa BestIsa() {
  for (auto level = kLevels.rbegin(); level != kLevels.rend(); ++level) {
    if (*level == Isa::kAmx) continue;
    // Per multiplication, Intel's cores run vdpbf16ps at half the rate of fp32 products (Emerald
    // Rapids: 110 against 200 GFLOP/s per core), so widening bf16 to fp32 is faster there. AMD's
    // cores run it at twice the fp32 rate.
    if (*level == Isa::kAvx512Bf16 && !__builtin_cpu_is("amd")) continue;
    if (IsaSupported(*level)) return *level;
  }
  return Isa::kGeneric;
}

Isa ResolveIsa(Isa isa) {
  if (isa == Isa::kAuto) return BestIsa();
  if (IsaSupported(isa)) return isa;
  throw std::invalid_argument(std::string("this processor has no ") + IsaName(isa) +
                              "; its best is " + IsaName(BestIsa()));
}

const char* IsaName(Isa isa) {
  switch (isa) {
    case Isa::kAuto:
      return "auto";
    case Isa::kGeneric:
      return "generic";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512_bf16";
    case Isa::kAmx:
      return "amx";
  }
  return "unknown";
}

Isa ParseIsa(const std::string& name) {
  std::string names;
  for (const Isa isa : kLevels) {
    if (name == IsaName(isa)) return isa;
    names += std::string(names.empty() ? "" : ", ") + IsaName(isa);
  }
  throw std::invalid_argument("unknown instruction set '" + name + "'; expected one of " + names);
}

}  // namespace gp::engine
