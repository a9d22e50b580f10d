#include "daemon/gpu_devices.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "base/file.h"
#include "daemon/child_process.h"

namespace gp::daemon {
namespace {

constexpr std::string_view kCard = "nvidia";

// "nvidia3", but not "nvidiactl" or "nvidia-uvm".
bool IsCard(const std::string& name) {
  return name.starts_with(kCard) && name.size() > kCard.size() &&
         std::all_of(name.begin() + kCard.size(), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool HasCard(const std::string& directory) {
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (IsCard(entry->path().filename().string())) return true;
  }
  return false;
}

bool HasDriver(const GpuDeviceFiles& files) {
  return FileExists(JoinPath(files.directory, "nvidiactl"));
}

// The outcome in words: why the program did not make the file.
std::string RunModprobe(const GpuDeviceFiles& files) {
  const auto child = StartChild({.program = files.nvidia_modprobe, .arguments = {"-u", "-c=0"}});
  if (!child.ok()) return Message(child.status());
  const int status = AwaitExit(*child);
  return fmt::format("{} -u -c=0 ended with status {}", files.nvidia_modprobe,
                     WIFEXITED(status) ? WEXITSTATUS(status) : status);
}

}  // namespace

bool HasGpuDevice(const GpuDeviceFiles& files) {
  return (HasDriver(files) && HasCard(files.directory)) ||
         FileExists(JoinPath(files.directory, "dxg"));
}

std::string MakeUnifiedMemoryDevice(const GpuDeviceFiles& files) {
  const std::string device = JoinPath(files.directory, "nvidia-uvm");
  if (!HasDriver(files) || FileExists(device)) return "";
  const std::string outcome = RunModprobe(files);
  if (FileExists(device)) return "";
  return fmt::format(
      "{} does not exist, so confined programs cannot use CUDA ({}); run 'sudo nvidia-modprobe -u "
      "-c=0' on this machine, and at each boot",
      device, outcome);
}

}  // namespace gp::daemon
