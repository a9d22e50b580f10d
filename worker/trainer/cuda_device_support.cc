// Opens the libraries with dlopen, which searches like the dynamic linker, so that --support can
// report a missing one.
#include <dlfcn.h>

#include <nlohmann/json.hpp>

#include "worker/engine/backend/cuda/runtime/cuda_device.h"
#include "worker/engine/collectives/nccl_api.h"
#include "worker/trainer/device_support.h"

namespace gp::engine {
namespace {

using OrderedJson = nlohmann::ordered_json;

// How a library encodes its version: major * major_unit + minor * minor_unit + patch.
struct Library {
  const char* name;
  const char* file;
  const char* version_function;
  bool returns_it;  // otherwise it writes the version to an int and returns a status
  size_t major_unit;
  size_t minor_unit;
};

constexpr Library kLibraries[] = {
    {"CUDA runtime", "libcudart.so.13", "cudaRuntimeGetVersion", false, 1000, 10},
    {"cuBLASLt", "libcublasLt.so.13", "cublasLtGetVersion", true, 10000, 100},
    {"cuDNN", "libcudnn.so.9", "cudnnGetVersion", true, 10000, 100}};

size_t VersionNumber(void* function, const Library& library) {
  if (library.returns_it) return reinterpret_cast<size_t (*)()>(function)();
  int version = 0;
  reinterpret_cast<int (*)(int*)>(function)(&version);
  return static_cast<size_t>(version);
}

// Leaves the library loaded, because the process ends soon.
OrderedJson Describe(const Library& library) {
  OrderedJson entry = {{"name", library.name}, {"version", ""}, {"problem", ""}};
  void* handle = dlopen(library.file, RTLD_NOW | RTLD_LOCAL);
  void* function = handle != nullptr ? dlsym(handle, library.version_function) : nullptr;
  if (function == nullptr) {
    const char* error = dlerror();
    entry["problem"] = error != nullptr ? error : std::string(library.file) + " was not found";
    return entry;
  }
  const size_t version = VersionNumber(function, library);
  entry["version"] = std::to_string(version / library.major_unit) + "." +
                     std::to_string(version % library.major_unit / library.minor_unit);
  return entry;
}

// Describes the NCCL library that training would load.
OrderedJson DescribeNccl() {
  OrderedJson entry = {{"name", "NCCL"}, {"version", ""}, {"problem", ""}};
  try {
    entry["version"] = NcclVersionText(NcclApi::Get().version);
  } catch (const NcclUnavailable& unavailable) {
    entry["problem"] = unavailable.what();
  }
  return entry;
}

OrderedJson Describe(const CudaDevice& device) {
  OrderedJson modes = OrderedJson::array();
  for (const CudaSupport& support : SupportOf(device)) {
    modes.push_back({{"name", support.feature}, {"works", support.works}, {"why", support.reason}});
  }
  return {{"name", device.name}, {"architecture", device.architecture()}, {"modes", modes}};
}

}  // namespace

std::string DeviceSupport() {
  OrderedJson support = {
      {"libraries", OrderedJson::array()}, {"devices", OrderedJson::array()}, {"problem", ""}};
  for (const Library& library : kLibraries) support["libraries"].push_back(Describe(library));
  support["libraries"].push_back(DescribeNccl());
  const int devices = CountDevices();
  for (int index = 0; index < devices; ++index) {
    support["devices"].push_back(Describe(QueryDevice(index)));
  }
  if (devices == 0)
    support["problem"] = "the CUDA runtime sees no GPU, or no driver that it can use";
  return support.dump(2);
}

}  // namespace gp::engine
