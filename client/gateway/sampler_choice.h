// The sampler program and its memory limit when the settings leave them open. Functions of the
// machine; thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace gp::gateway {

// The path of gp-sampler-cuda beside this program if it exists and can use a GPU of this machine,
// else that of gp-sampler.
std::string SamplerBesideThisProgram();

// Half of the memory that this process may still allocate now (base/machine/available_memory.h).
uint64_t DefaultSamplerMemory();

}  // namespace gp::gateway
