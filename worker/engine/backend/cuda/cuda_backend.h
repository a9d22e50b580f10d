// CudaBackend: the Backend on one NVIDIA GPU: kernels/, cuBLASLt and cuDNN on one stream, memory of
// the device, graphs. Its workspace is one allocation laid out by plan/gpu_workspace.h. Later
// calls throw the errors of queued work. One thread calls; only Fetch may be called from any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plan/arena_plan.h"
#include "plan/model_shape.h"
#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cuda/products/gemm_choices.h"
#include "worker/engine/backend/cuda/products/linear_products.h"

namespace gp::engine {

struct CudaBackendOptions {
  // The largest sizes that will be used; the workspace is made for them.
  runspec::ModelShape shape;
  runspec::ArenaOptions arena;
  bool tf32 = false;          // fp32 products round their operands to TF32
  bool fp8 = false;           // products with may_be_fp8 are computed in FP8
  bool deterministic = true;  // only algorithms with a fixed order of sums
  bool graphs = true;         // Replay records and replays CUDA graphs
  // The last product of a block adds its result to the residual stream.
  bool adds_in_products = false;
  GemmChoices gemms = {};
};

// The options of LinearProducts in a backend with `options`.
LinearOptions LinearOptionsOf(const CudaBackendOptions& options);

struct CudaBackendMade {
  std::unique_ptr<Backend> backend;
  std::string attention;  // "cudnn 91900", "flash": the first of the kernels; empty for kMath
  std::vector<std::string> notes;  // choices that were not used, and why; for the log
};

// On the current device. Throws std::invalid_argument when the device lacks something that the
// options require, std::bad_alloc when its memory is full, CudaError for other failures.
CudaBackendMade MakeCudaBackend(const CudaBackendOptions& options);

}  // namespace gp::engine
