// The group of ranks that compute on GPUs, for programs that may have none: what NCCL does in a
// program built with CUDA (nccl_device_group.cc), and a reason in any other (no_device_group.cc).
// One thread calls; errors are exceptions.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

// What the ranks connect with; rank 0 makes it. std::runtime_error says what is missing here.
std::string MakeDeviceGroupId();

// Connects the group (nccl_communicator.h).
std::unique_ptr<Communicator> ConnectDeviceGroup(const GroupOptions& options, const std::string& id,
                                                 bool deterministic,
                                                 const std::stop_token& stop = {});

// For benches without a backend: makes the GPU with this number the calling thread's, and gives
// zeroed memory of it that lives as long as the process.
std::span<float> TakeDeviceFloats(int device, size_t count);

// "NCCL 2.28.9 (/usr/lib/libnccl.so.2)".
std::string DeviceGroupLibrary();

}  // namespace gp::engine
