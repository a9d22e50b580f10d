// The device of this process, as the engine sees it: is there one, what can it compute in, and the
// Backend on it. Which file implements it is chosen by CMake: no_device_backend.cc in the programs
// for CPUs, the CUDA backend's in gp-trainer-cuda. A process has one device at most: device 0 of
// those it may see (CUDA_VISIBLE_DEVICES). Functions may be called from any thread; errors are
// exceptions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runspec/arena_plan.h"
#include "runspec/model_shape.h"
#include "runspec/run_spec.h"
#include "worker/engine/backend/backend.h"

namespace gp::engine {

// A precision or an attention that the device lacks, and why.
struct DeviceLack {
  std::string what;  // as in a run file: "bf16", "cudnn"
  std::string why;   // "needs compute capability 8.0"
};

struct DeviceInfo {
  std::string name;          // "NVIDIA H200"; empty: there is none
  std::string why_none;      // "no CUDA device is visible"; then only
  std::string kernels;       // "cuda sm_90": what Backend::name() will say
  int64_t memory_bytes = 0;  // the device's whole memory
  int64_t free_bytes = 0;    // now
  std::vector<DeviceLack> lacks;
  // What was tuned on this device before (DeviceBackendOptions::tuning); empty when nothing.
  std::string tuning;
  // What every text begins with that was tuned here; empty: there is no telling.
  std::string tuning_prefix;

  bool exists() const { return !name.empty(); }
};

struct DeviceBackendOptions {
  // The largest that will be asked for; sizes the workspace (runspec/gpu_workspace.h).
  runspec::ModelShape shape;
  runspec::ArenaOptions arena;
  // kTf32 and kFp8 compute in them what arrives in fp32 and bf16 or fp16 buffers.
  runspec::Precision precision = runspec::Precision::kFp32;
  // Algorithms whose order of summation is fixed, nothing chosen by timing: equal inputs, equal
  // bits.
  bool deterministic = true;
  bool graph = true;  // Replay records
  // Which algorithms a run computes with, encoded by the backend: from a record or from rank 0.
  // Empty: the backend's own heuristics, or its cache of what was timed here.
  std::string tuning;
};

// With what a device's backend computes.
struct DeviceChoices {
  std::string tuning;              // goes into the run's record. Empty: nothing was chosen
  std::string attention;           // "cudnn 91900", "flash"; empty for engine.attention: math
  std::vector<std::string> notes;  // what was passed over, and why; for the log
};

struct DeviceBackend {
  std::unique_ptr<Backend> backend;
  DeviceChoices choices;
};

// Looks once, then answers from memory but for free_bytes.
DeviceInfo FindDevice();

// Throws std::invalid_argument, saying the way out, when there is no device or it lacks what the
// options ask for; std::bad_alloc when its memory is full.
DeviceBackend MakeDeviceBackend(const DeviceBackendOptions& options);

}  // namespace gp::engine
