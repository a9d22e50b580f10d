#include "client/gateway/sampler_choice.h"

#include <unistd.h>

#include <climits>
#include <cstdint>

#include "base/file.h"
#include "base/machine/available_memory.h"

namespace gp::gateway {

std::string SamplerBesideThisProgram() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string folder =
      length > 0 ? DirectoryOf({path, static_cast<size_t>(length)}) : std::string(".");
  const std::string cuda = JoinPath(folder, "gp-sampler-cuda");
  const bool has_gpu = FileExists("/dev/nvidiactl") && FileExists("/dev/nvidia0");
  return has_gpu && FileExists(cuda) ? cuda : JoinPath(folder, "gp-sampler");
}

uint64_t DefaultSamplerMemory() { return static_cast<uint64_t>(ReadAvailableMemory().bytes) / 2; }

}  // namespace gp::gateway
