// The device of this process: whether there is one, which precisions it computes in, and the
// Backend on it. CMake chooses the implementation: no_device_backend.cc in the programs for CPUs,
// the CUDA backend's in gp-trainer-cuda. A process has at most one device: device 0 of the visible
// ones (CUDA_VISIBLE_DEVICES). Functions may be called from any thread; errors are exceptions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plan/arena_plan.h"
#include "plan/model_shape.h"
#include "plan/run_spec.h"
#include "worker/engine/backend/backend.h"

namespace gp::engine {

// A precision or an attention kernel that the device does not support, and why.
struct DeviceLack {
  std::string what;  // as in a run file: "bf16", "cudnn"
  std::string why;   // "needs compute capability 8.0"
};

struct DeviceInfo {
  std::string name;          // "NVIDIA H200"; empty: there is none
  std::string why_none;      // "no CUDA device is visible"; set only if there is none
  std::string kernels;       // "cuda sm_90": what Backend::name() returns
  int64_t memory_bytes = 0;  // the device's whole memory
  int64_t free_bytes = 0;    // now
  std::vector<DeviceLack> lacks;
  // The result of earlier tuning on this device (DeviceBackendOptions::tuning); empty when there is
  // none.
  std::string tuning;
  // Every tuning result made on this device begins with this; empty if unknown.
  std::string tuning_prefix;

  bool exists() const { return !name.empty(); }
};

struct DeviceBackendOptions {
  // The largest sizes that will be used; the workspace is made for them (plan/gpu_workspace.h).
  runspec::ModelShape shape;
  runspec::ArenaOptions arena;
  // kTf32 applies to products of fp32 buffers, kFp8 to products of bf16 or fp16 buffers.
  runspec::Precision precision = runspec::Precision::kFp32;
  // Use only algorithms with a fixed order of summation, and choose none by timing: equal inputs
  // then give equal bits.
  bool deterministic = true;
  bool graph = true;  // Replay records
  // The algorithms that a run computes with, encoded by the backend; from a record or from rank 0.
  // Products that it does not name (all, if it is empty) use cuBLASLt's heuristics with
  // `deterministic`; otherwise the algorithms in this device's cache, and MakeDeviceBackend times
  // the products that the cache lacks.
  std::string tuning;
};

// The algorithms and kernels that a device's backend has chosen.
struct DeviceChoices {
  std::string tuning;     // goes into the run's record. Empty: nothing was chosen
  std::string attention;  // "cudnn 91900", "flash"; empty for engine.attention: math
  // For the log: kernels that are not used and why, what tuning took, why it cannot be kept.
  std::vector<std::string> notes;
};

struct DeviceBackend {
  std::unique_ptr<Backend> backend;
  DeviceChoices choices;
};

// Queries the device once and keeps the answer, except for free_bytes.
DeviceInfo FindDevice();

// Throws std::invalid_argument, with what to do, when there is no device or it lacks something that
// the options require; std::bad_alloc when its memory is full.
DeviceBackend MakeDeviceBackend(const DeviceBackendOptions& options);

}  // namespace gp::engine
