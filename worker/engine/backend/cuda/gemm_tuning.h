// GemmTuning: which of cuBLASLt's algorithms is the fastest for each product of a model, and
// whether an epilogue is faster than a pass of its own, by timing them on this device; and the file
// that remembers it, one per GPU, driver and cuBLASLt version:
// $XDG_CACHE_HOME/gp/gemms-<device>.txt, GemmChoices::Encode inside. Called before the first
// operation of a run that is not deterministic. Any thread, one at a time.
#pragma once

#include <string>

#include "worker/engine/backend/cuda/cuda_backend.h"
#include "worker/engine/backend/cuda/cuda_device.h"
#include "worker/engine/backend/cuda/gemm_choices.h"

namespace gp::engine {

// "NVIDIA H200, driver 13.0, cuBLASLt 13.1.0": what choices are good for.
std::string TuningDevice(const CudaDevice& device);

// For every product of a training step of such a backend what `known` says or else, by timing, what
// is the fastest here. Takes device memory for the largest product and its operands while it runs;
// computes nothing when `known` says it all.
GemmChoices TuneGemms(const CudaBackendOptions& options, GemmChoices known);

// Empty when neither XDG_CACHE_HOME nor HOME is set.
std::string TunedGemmsPath(const std::string& tuning_device);

// What the file says about the device; nothing where there is no file, or none that can be read.
GemmChoices ReadTunedGemms(const std::string& tuning_device);

// Replaces the file at once, so that a reader finds the old or the new one. False when it cannot be
// written, which costs the next start the time of tuning.
bool WriteTunedGemms(const GemmChoices& choices);

}  // namespace gp::engine
