#include <stdexcept>
#include <string>

#include "worker/engine/backend/cuda/kernels/attention/flash_attention.h"
#include "worker/engine/backend/cuda/kernels/attention/flash_view.cuh"
#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/reduction.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

constexpr int64_t kTensorHeadSizeMax = 128;
// Threads that share a row. With 64 elements of 16 bits, each loads 16 bytes.
constexpr int kRowLanes = 8;
constexpr int kDotRows = 32;
constexpr int kDotThreads = kDotRows * kRowLanes;

// Returns to every thread the sum over the kRowLanes neighbours that share its row. All lanes call.
__device__ __forceinline__ float RowSum(float value) {
#pragma unroll
  for (int offset = kRowLanes / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

// dots = dout . out for each (head, query), with kRowLanes threads for each. Reads both arrays
// once.
template <int kLanes, typename T>
__global__ void __launch_bounds__(kDotThreads)
    FlashDotsKernel(FlashView view, int tiles, float* dots, const T* dout, const T* out) {
  AwaitPrevious();
  const int lane = static_cast<int>(threadIdx.x) % kRowLanes;
  const FlashBlock block(tiles, false);
  const int head = static_cast<int>(block.head);
  const int query = block.tile * kDotRows + static_cast<int>(threadIdx.x) / kRowLanes;
  const bool exists = query < view.length;
  float sum = 0;
  if (exists) {
    const int64_t row =
        (int64_t{head / view.heads} * view.length + query) * view.heads + head % view.heads;
    const int64_t first = row * view.head_size;
    for (int i = lane * kLanes; i < view.head_size; i += kRowLanes * kLanes) {
      const Floats<kLanes> a = LoadFloats<kLanes>(dout + first + i);
      const Floats<kLanes> b = LoadFloats<kLanes>(out + first + i);
#pragma unroll
      for (int j = 0; j < kLanes; ++j) sum += a.lane[j] * b.lane[j];
    }
  }
  sum = RowSum(sum);
  if (exists && lane == 0) dots[block.head * view.length + query] = sum;
}

void LaunchDots(const FlashBackward& args, cudaStream_t stream) {
  const int tiles = FlashTiles(args.shape, kDotRows);
  const bool aligned = AlignedTo(args.dout.data, 16) && AlignedTo(args.out.data, 16);
  WithElementType(args.out.type, [&](auto element) {
    using T = decltype(element);
    WithLanes<sizeof(T)>(aligned ? args.shape.head_size : 1, [&](auto lanes) {
      Launch(FlashDotsKernel<decltype(lanes)::value, T>, FlashGrid(args.shape, tiles),
             dim3(kDotThreads), 0, stream, FlashView(args.shape), tiles, args.dots,
             static_cast<const T*>(args.dout.data), static_cast<const T*>(args.out.data));
    });
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
