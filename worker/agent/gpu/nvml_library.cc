#include "worker/agent/gpu/nvml_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <sstream>

namespace gp::agent {
namespace {

// dlerror names the missing file. This distinguishes an absent library from one that cannot be
// loaded.
Status WhyNotLoaded(const std::string& path) {
  const char* reason = dlerror();
  const std::string text = reason == nullptr ? "cannot be loaded" : reason;
  if (text.find("No such file") != std::string::npos) {
    return NotFound("no NVIDIA driver: {}", text);
  }
  return FailedPrecondition("{} cannot be loaded: {}; reinstall the NVIDIA driver", path, text);
}

void* Load(const std::string& path) { return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }

// Loads the library from the first directory of LD_LIBRARY_PATH where that works, otherwise from
// the system's directories. dlopen alone would search the system's directories first
// (cmake/LibraryPath.cmake), which may have an older driver's library. Null if it cannot be loaded.
void* LoadByName(const std::string& name) {
  const char* value = std::getenv("LD_LIBRARY_PATH");
  std::istringstream folders(value == nullptr ? "" : value);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    if (void* handle = Load(folder + "/" + name)) return handle;
  }
  return Load(name);
}

template <typename Function>
bool Find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

}  // namespace

StatusOr<std::unique_ptr<NvmlLibrary>> NvmlLibrary::Open(const std::string& path) {
  void* handle = path.find('/') == std::string::npos ? LoadByName(path) : Load(path);
  if (handle == nullptr) return WhyNotLoaded(path);
  std::unique_ptr<NvmlLibrary> library(new NvmlLibrary(handle));
  RETURN_IF_ERROR(library->Resolve(path));
  const NvmlReturn code = library->functions_.init();
  if (code != kNvmlSuccess) {
    return FailedPrecondition("NVML cannot be used: {}", library->Explain(code));
  }
  library->initialised_ = true;
  return library;
}

NvmlLibrary::~NvmlLibrary() {
  if (initialised_) functions_.shutdown();
  dlclose(handle_);
}

Status NvmlLibrary::Resolve(const std::string& path) {
  NvmlFunctions& f = functions_;
  const bool found =
      Find(handle_, "nvmlInit_v2", f.init) && Find(handle_, "nvmlShutdown", f.shutdown) &&
      Find(handle_, "nvmlErrorString", f.error_string) &&
      Find(handle_, "nvmlSystemGetDriverVersion", f.system_driver_version) &&
      Find(handle_, "nvmlSystemGetCudaDriverVersion_v2", f.system_cuda_driver_version) &&
      Find(handle_, "nvmlDeviceGetCount_v2", f.device_count) &&
      Find(handle_, "nvmlDeviceGetHandleByIndex_v2", f.device_by_index) &&
      Find(handle_, "nvmlDeviceGetHandleByUUID", f.device_by_uuid) &&
      Find(handle_, "nvmlDeviceGetUUID", f.device_uuid) &&
      Find(handle_, "nvmlDeviceGetName", f.device_name) &&
      Find(handle_, "nvmlDeviceGetMemoryInfo", f.device_memory) &&
      Find(handle_, "nvmlDeviceGetCudaComputeCapability", f.device_compute_capability) &&
      Find(handle_, "nvmlDeviceGetUtilizationRates", f.device_utilization) &&
      Find(handle_, "nvmlDeviceGetTemperature", f.device_temperature) &&
      Find(handle_, "nvmlDeviceGetPowerUsage", f.device_power) &&
      Find(handle_, "nvmlDeviceGetTotalEnergyConsumption", f.device_energy) &&
      Find(handle_, "nvmlDeviceGetTotalEccErrors", f.device_ecc_errors) &&
      Find(handle_, "nvmlDeviceGetMigMode", f.device_mig_mode) &&
      Find(handle_, "nvmlDeviceGetMaxMigDeviceCount", f.device_mig_count_max) &&
      Find(handle_, "nvmlDeviceGetMigDeviceHandleByIndex", f.device_mig_by_index);
  if (found) return OkStatus();
  const char* reason = dlerror();
  return FailedPrecondition(
      "{} is too old: {}; install an NVIDIA driver of the 580 series or later", path,
      reason == nullptr ? "a function is missing" : reason);
}

std::string NvmlLibrary::Explain(NvmlReturn code) const {
  const char* words = functions_.error_string(code);
  const std::string text = words == nullptr ? fmt::format("error {}", code) : words;
  if (code == kNvmlVersionMismatch) {
    return text +
           ": the loaded kernel module and the installed driver libraries differ, as after an "
           "upgrade of the driver; reboot, or reload the nvidia modules";
  }
  if (code == kNvmlDriverNotLoaded) {
    return text +
           ": the nvidia kernel module is not loaded; modprobe nvidia, or reinstall the driver";
  }
  return text;
}

}  // namespace gp::agent
