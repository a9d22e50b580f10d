#include "worker/engine/backend/cuda/emulation/devices.h"

#include <cstdio>

#include "base/mutex.h"

namespace gp::cuda_emulation {
namespace {

struct Machine {
  cudaDeviceProp properties = DefaultDevice();
  int count = 1;
};
Mutex machine_mutex;
Machine& TheMachine() REQUIRES(machine_mutex) {
  static Machine machine;
  return machine;
}

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;

}  // namespace

cudaDeviceProp DefaultDevice() {
  cudaDeviceProp device{};
  std::snprintf(device.name, sizeof(device.name), "emulated sm_90");
  device.totalGlobalMem = size_t{4} << 30;
  device.sharedMemPerBlock = size_t{48} << 10;
  device.sharedMemPerBlockOptin = size_t{227} << 10;
  device.sharedMemPerMultiprocessor = size_t{228} << 10;
  device.major = 9;
  device.minor = 0;
  device.multiProcessorCount = 132;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiProcessor = 2048;
  device.l2CacheSize = 50 << 20;
  device.memoryBusWidth = 5120;
  return device;
}

void SetDevices(const cudaDeviceProp& properties, int count) {
  MutexLock lock(machine_mutex);
  TheMachine() = {properties, count};
}

cudaDeviceProp Devices() {
  MutexLock lock(machine_mutex);
  return TheMachine().properties;
}

int DeviceCount() {
  MutexLock lock(machine_mutex);
  return TheMachine().count;
}

cudaError_t SetLastError(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

namespace {

bool IsDevice(int device) { return device >= 0 && device < DeviceCount(); }

int AttributeOf(const cudaDeviceProp& device, cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return device.maxThreadsPerBlock;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return static_cast<int>(device.sharedMemPerBlock);
    case cudaDevAttrMultiProcessorCount:
      return device.multiProcessorCount;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return device.maxThreadsPerMultiProcessor;
    case cudaDevAttrComputeCapabilityMajor:
      return device.major;
    case cudaDevAttrComputeCapabilityMinor:
      return device.minor;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(device.sharedMemPerMultiprocessor);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(device.sharedMemPerBlockOptin);
  }
  return 0;
}

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
     "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
};

const ErrorText& TextOf(cudaError_t error) {
  for (const ErrorText& text : kErrors) {
    if (text.error == error) return text;
  }
  static constexpr ErrorText kUnknown{cudaSuccess, "cudaErrorUnknown", "unknown error"};
  return kUnknown;
}

}  // namespace
}  // namespace gp::cuda_emulation

using namespace gp::cuda_emulation;

const char* cudaGetErrorName(cudaError_t error) { return TextOf(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return TextOf(error).text; }
cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() { return last_error; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = DeviceCount();
  return *count > 0 ? cudaSuccess : SetLastError(cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return DeviceCount() > 0 ? cudaSuccess : SetLastError(cudaErrorNoDevice);
}
cudaError_t cudaSetDevice(int device) {
  if (!IsDevice(device)) return SetLastError(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!IsDevice(device)) return SetLastError(cudaErrorInvalidDevice);
  *properties = Devices();
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (!IsDevice(device)) return SetLastError(cudaErrorInvalidDevice);
  *value = AttributeOf(Devices(), attribute);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
