// For programs without a device backend.
#include <stdexcept>

#include "worker/engine/backend/device_backend.h"

namespace gp::engine {
namespace {

constexpr char kWhyNone[] =
    "this program computes on CPUs; gp-trainer-cuda and gp-bench-cuda, which `make gpu` builds, "
    "compute on NVIDIA GPUs";

}  // namespace

DeviceInfo FindDevice() { return {.why_none = kWhyNone}; }

DeviceBackend MakeDeviceBackend(const DeviceBackendOptions&) {
  throw std::invalid_argument(kWhyNone);
}

}  // namespace gp::engine
