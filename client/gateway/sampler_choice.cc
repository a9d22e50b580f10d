#include "client/gateway/sampler_choice.h"

#include <unistd.h>

#include <climits>
#include <cstdint>

#include "base/file.h"
#include "base/log.h"
#include "base/machine/available_memory.h"
#include "daemon/gpu_devices.h"

namespace gp::gateway {

std::string SamplerBesideThisProgram() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string folder =
      length > 0 ? DirectoryOf({path, static_cast<size_t>(length)}) : std::string(".");
  const std::string cuda = JoinPath(folder, "gp-sampler-cuda");
  if (!daemon::HasGpuDevice() || !FileExists(cuda)) return JoinPath(folder, "gp-sampler");
  const std::string problem = daemon::MakeUnifiedMemoryDevice();
  if (problem.empty()) return cuda;
  LogWarning("samplers compute on the CPU", {{"reason", problem}});
  return JoinPath(folder, "gp-sampler");
}

uint64_t DefaultSamplerMemory() { return static_cast<uint64_t>(ReadAvailableMemory().bytes) / 2; }

}  // namespace gp::gateway
