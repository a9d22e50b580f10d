// The machine's processor, from the text of /proc/cpuinfo. Pure; thread-safe.
#pragma once

#include <string>

namespace gp {

struct Processor {
  std::string model;  // empty when the text does not name it
  std::string isa;    // for gp's compute kernels: "AVX2", "AVX-512", "AVX-512 with bf16", or ""
};

Processor ParseProcessor(const std::string& cpuinfo);

}  // namespace gp
