// Device: CPU or GPU, for the ranks of a run. A value; its functions are pure and thread-safe.
#pragma once

#include <optional>
#include <string_view>

namespace gp::coordinator {

// kAuto: GPUs when the fleet has enough of them, else CPU cores; decided by the first placement.
enum class Device { kCpu, kGpu, kAuto };

// "cpu" | "gpu" | "auto", as in resources.device and in the store.
std::string_view Name(Device device);
std::optional<Device> DeviceNamed(std::string_view name);

}  // namespace gp::coordinator
