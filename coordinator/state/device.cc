#include "coordinator/state/device.h"

namespace gp::coordinator {

std::string_view Name(Device device) {
  switch (device) {
    case Device::kCpu:
      return "cpu";
    case Device::kGpu:
      return "gpu";
    case Device::kAuto:
      break;
  }
  return "auto";
}

std::optional<Device> DeviceNamed(std::string_view name) {
  for (const Device device : {Device::kCpu, Device::kGpu, Device::kAuto}) {
    if (Name(device) == name) return device;
  }
  return std::nullopt;
}

}  // namespace gp::coordinator
