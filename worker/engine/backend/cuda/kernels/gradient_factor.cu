#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/gradient_factor.h"
#include "worker/engine/backend/cuda/runtime/launch.h"
#include "worker/engine/backend/gradient_factor.h"

namespace gp::engine {
namespace {

__global__ void GradientFactorKernel(GradientFactor args) {
  AwaitPrevious();
  *args.factor = FactorOf(args);
}

}  // namespace

void LaunchGradientFactor(const GradientFactor& args, cudaStream_t stream) {
  Launch(&GradientFactorKernel, 1, 1, 0, stream, args);
}

}  // namespace gp::engine
