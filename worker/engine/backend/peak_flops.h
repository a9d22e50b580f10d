// The arithmetic peak of GPUs by name and precision, from NVIDIA's data sheets and architecture
// whitepapers: dense matrix products, without sparsity, at boost clock. MFU on a GPU is a fraction
// of it. Standard library only. A pure function; thread-safe.
#pragma once

#include <string>

#include "plan/run_spec.h"

namespace gp::engine {

struct PeakFlops {
  double per_second = 0;  // 0: unknown
  std::string source;     // "data sheet: NVIDIA H100 Tensor Core GPU"
};

// `device` as the driver names it: "NVIDIA H100 80GB HBM3".
PeakFlops PeakFlopsOf(const std::string& device, runspec::Precision precision);

}  // namespace gp::engine
