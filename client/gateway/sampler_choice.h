// The sampler program and its memory limit when the settings leave them open. Functions of the
// machine; thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace gp::gateway {

// gp-sampler-cuda beside this program if it was built and there is a GPU, else gp-sampler.
std::string SamplerBesideThisProgram();

// Half of the free memory.
uint64_t DefaultSamplerMemory();

}  // namespace gp::gateway
