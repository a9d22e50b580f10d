// Describes the devices that this program can compute on, for people and for `gpctl doctor`. CMake
// chooses the implementation: no_device_support.cc in gp-trainer, cuda_device_support.cc in
// gp-trainer-cuda. Any thread may call.
#pragma once

#include <string>

namespace gp::engine {

// A JSON document: {"libraries": [{"name", "version", "problem"}], "devices": [{"name",
// "architecture", "modes": [{"name", "works", "why"}]}], "problem"}. A missing library has a
// problem and no version; `problem` says why there is no device. Lists the devices visible to this
// process; gp-trainer has neither libraries nor devices.
std::string DeviceSupport();

}  // namespace gp::engine
