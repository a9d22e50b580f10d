// GemmTuning: finds the fastest cuBLASLt algorithm for each product of a model, and whether an
// epilogue is faster than a separate pass, by timing them on this device. The results go to a file,
// one per GPU, driver and cuBLASLt version: $XDG_CACHE_HOME/gp/gemms/<device>.txt,
// GemmChoices::Encode inside. Called before the first operation of a run that is not deterministic.
// Any thread, one at a time.
#pragma once

#include <string>

#include "worker/engine/backend/cuda/cuda_backend.h"
#include "worker/engine/backend/cuda/products/gemm_choices.h"
#include "worker/engine/backend/cuda/runtime/cuda_device.h"

namespace gp::engine {

// "NVIDIA H200, driver 13.0, cuBLASLt 13.1.0": the hardware and versions that choices are valid
// for.
std::string TuningDevice(const CudaDevice& device);

// Choices for every product of a training step with this backend: those of `known`, and for the
// rest the fastest by timing. During the call it holds device memory for the largest product and
// its operands. It computes nothing when `known` covers everything.
GemmChoices TuneGemms(const CudaBackendOptions& options, GemmChoices known);

// Empty when neither XDG_CACHE_HOME nor HOME is set.
std::string TunedGemmsPath(const std::string& tuning_device);

// The choices in the device's file; empty if there is no file or it cannot be read.
GemmChoices ReadTunedGemms(const std::string& tuning_device);

// Replaces the file atomically: a reader finds the old or the new one. Throws std::runtime_error if
// it cannot be written; then the next start has to tune again.
void WriteTunedGemms(const GemmChoices& choices);

}  // namespace gp::engine
