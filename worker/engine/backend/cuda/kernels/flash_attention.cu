#include <stdexcept>
#include <string>

#include "worker/engine/backend/cuda/kernels/flash_attention.h"
#include "worker/engine/backend/cuda/kernels/flash_view.cuh"
#include "worker/engine/backend/cuda/kernels/reduction.cuh"
#include "worker/engine/backend/cuda/launch.h"

namespace gp::engine {
namespace {

constexpr int64_t kTensorHeadSizeMax = 128;
constexpr int kWarps = 8;

// dots = dout . out of each (head, query): a warp for each. Moves both arrays once.
template <typename T>
__global__ void __launch_bounds__(kWarps* kWarpSize)
    FlashDotsKernel(FlashView view, int64_t count, float* dots, const T* dout, const T* out) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int64_t index = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarpSize;
  if (index >= count) return;
  const int64_t head = index / view.length;
  const int64_t query = index % view.length;
  const T* a = view.Part(dout, head, 0, 1).Row(query);
  const T* b = view.Part(out, head, 0, 1).Row(query);
  float sum = 0;
  for (int i = lane; i < view.head_size; i += kWarpSize) sum += ToFloat(a[i]) * ToFloat(b[i]);
  sum = WarpSum(sum);
  if (lane == 0) dots[index] = sum;
}

void LaunchDots(const FlashBackward& args, cudaStream_t stream) {
  const int64_t count = args.shape.sequences * args.shape.heads * args.shape.length;
  WithElementType(args.out.type, [&](auto element) {
    using T = decltype(element);
    Launch(FlashDotsKernel<T>, dim3(BlocksFor(count, kWarps)), dim3(kWarps * kWarpSize), 0, stream,
           FlashView(args.shape), count, args.dots, static_cast<const T*>(args.dout.data),
           static_cast<const T*>(args.out.data));
  });
}

void CheckShape(const AttentionShape& shape) {
  if (shape.head_size >= 1 && shape.head_size <= kFlashHeadSizeMax) return;
  throw std::invalid_argument("flash attention: head size " + std::to_string(shape.head_size) +
                              " is not in [1, " + std::to_string(kFlashHeadSizeMax) +
                              "]; choose engine.attention: math");
}

}  // namespace

FlashMath BestFlashMath(const AttentionShape& shape, DataType type, int compute_capability_major) {
  const bool fits = type != DataType::kFloat32 && compute_capability_major >= 8 &&
                    shape.head_size % 8 == 0 && shape.head_size <= kTensorHeadSizeMax;
  return fits ? FlashMath::kTensorCores : FlashMath::kCudaCores;
}

void LaunchFlashForward(const FlashForward& args, cudaStream_t stream) {
  CheckShape(args.shape);
  if (args.math == FlashMath::kTensorCores) return LaunchFlashForwardOnTensorCores(args, stream);
  LaunchFlashForwardOnCudaCores(args, stream);
}

void LaunchFlashBackward(const FlashBackward& args, cudaStream_t stream) {
  CheckShape(args.shape);
  LaunchDots(args, stream);
  if (args.math == FlashMath::kTensorCores) return LaunchFlashBackwardOnTensorCores(args, stream);
  LaunchFlashBackwardOnCudaCores(args, stream);
}

}  // namespace gp::engine
