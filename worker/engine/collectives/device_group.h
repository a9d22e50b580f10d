// The group of ranks that compute on GPUs. In a program built with CUDA, NCCL implements it
// (nccl_device_group.cc). In any other program the functions throw an error with the reason
// (no_device_group.cc). One thread calls; errors are exceptions.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

// The id that the ranks connect with; rank 0 makes it. std::runtime_error says what is missing.
std::string MakeDeviceGroupId();

// Connects the group (nccl_communicator.h).
std::unique_ptr<Communicator> ConnectDeviceGroup(const GroupOptions& options, const std::string& id,
                                                 bool deterministic,
                                                 const std::stop_token& stop = {});

// For benches without a backend: selects this GPU for the calling thread, and returns zeroed memory
// on it that lives as long as the process.
std::span<float> AllocateDeviceFloats(int device, size_t count);

// "NCCL 2.28.9 (/usr/lib/libnccl.so.2)".
std::string DeviceGroupLibrary();

}  // namespace gp::engine
