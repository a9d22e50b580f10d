// Device: CPU or GPU, for the ranks of a run. A value; its functions are pure and thread-safe.
#pragma once

#include <optional>
#include <string_view>

namespace gp::coordinator {

// kAuto: GPUs when the connected nodes have at least `workers` of them, busy and cordoned ones
// included, else CPU cores. Decided by the first placement (TakesGpus in scheduler/placement.h).
enum class Device { kCpu, kGpu, kAuto };

// "cpu" | "gpu" | "auto", as in resources.device and in the store.
std::string_view Name(Device device);
std::optional<Device> DeviceNamed(std::string_view name);

}  // namespace gp::coordinator
