// The engine's element types as CUDA's libraries call them. Pure functions.
#pragma once

#include <cublasLt.h>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

constexpr cudaDataType_t CudaTypeOf(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return CUDA_R_32F;
    case DataType::kBfloat16:
      return CUDA_R_16BF;
    case DataType::kFloat16:
      return CUDA_R_16F;
  }
  return CUDA_R_32F;
}

}  // namespace gp::engine
