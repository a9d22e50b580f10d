#include "base/machine/processor.h"

#include "base/machine/proc_field.h"

namespace gp {
namespace {

bool HasFlag(const std::string& flags, const std::string& wanted) {
  return (" " + flags + " ").find(" " + wanted + " ") != std::string::npos;
}

std::string Isa(const std::string& flags) {
  if (HasFlag(flags, "avx512f")) {
    return HasFlag(flags, "avx512_bf16") ? "AVX-512 with bf16" : "AVX-512";
  }
  return HasFlag(flags, "avx2") && HasFlag(flags, "fma") ? "AVX2" : "";
}

}  // namespace

Processor ParseProcessor(const std::string& cpuinfo) {
  return {ProcField(cpuinfo, "model name"), Isa(ProcField(cpuinfo, "flags"))};
}

}  // namespace gp
