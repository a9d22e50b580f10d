// What this program can compute on, for people and for `gpctl doctor`. Which file implements it is
// chosen by CMake: no_device_support.cc in gp-trainer, cuda_device_support.cc in gp-trainer-cuda.
// Any thread may call.
#pragma once

#include <string>

namespace gp::engine {

// A JSON document: {"libraries": [{"name", "version", "problem"}], "devices": [{"name", "modes":
// [{"name", "works", "why"}]}], "problem"}. A library that was not found has a problem and no
// version; `problem` says why there is no device. Devices are those that this process may see.
std::string DeviceSupport();

}  // namespace gp::engine
