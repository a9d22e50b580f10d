// Isa: the instructions that the CPU kernels use. Chosen once per run and part of its record,
// because kernels of different levels round differently. Pure functions; thread-safe.
#pragma once

#include <string>

namespace gp::engine {

enum class Isa { kAuto, kGeneric, kAvx2, kAvx512, kAvx512Bf16, kAmx };

// The fastest level of this processor. Never kAuto, and kAvx512Bf16 only on AMD processors: on
// Intel's, kAvx512 is faster. Never kAmx: it must be requested.
Isa BestIsa();
// Whether this processor can give the bits of a level. For kAmx AVX-512 is enough (tiles.h).
bool IsaSupported(Isa isa);
// `isa`, or the best one for kAuto. Throws std::invalid_argument when this processor lacks it.
Isa ResolveIsa(Isa isa);

// The name of a level: "generic", "avx2", "avx512", "avx512_bf16", "amx", or
// "auto".
const char* IsaName(Isa isa);
// Throws std::invalid_argument that lists the names.
Isa ParseIsa(const std::string& name);

}  // namespace gp::engine
