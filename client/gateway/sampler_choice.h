// Which program samples, and with how much memory, when the settings leave it open. Functions of
// the machine; thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace gp::gateway {

// gp-sampler-cuda beside this program where there is a GPU and it was built, else gp-sampler.
std::string SamplerBesideThisProgram();

// Half of what is free.
uint64_t DefaultSamplerMemory();

}  // namespace gp::gateway
