#include <cmath>

#include "worker/engine/backend/cuda/kernels/attention/causal_softmax.h"
#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/dropout_mask.cuh"
#include "worker/engine/backend/cuda/kernels/reduction.cuh"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

// One block per row. Its second and third pass read the row from the first-level cache.
constexpr int kThreads = 128;

__device__ __forceinline__ int64_t Row() { return blockIdx.x; }
__device__ __forceinline__ int64_t FirstColumn() { return threadIdx.x; }

template <typename T>
__global__ void __launch_bounds__(kThreads)
    CausalSoftmaxKernel(int64_t length, float scale, T* scores, T* dropped, DropoutMask mask) {
  AwaitPrevious();
  GP_SHARED(float, scratch, [kThreads / kWarpSize]);
  const int64_t keys = Row() % length + 1;
  T* row = scores + Row() * length;
  float largest = -INFINITY;
  for (int64_t i = FirstColumn(); i < keys; i += kThreads) {
    largest = fmaxf(largest, ToFloat(row[i]) * scale);
  }
  largest = BlockMax<kThreads>(largest, scratch);
  float sum = 0;
  for (int64_t i = FirstColumn(); i < keys; i += kThreads) {
    sum += expf(ToFloat(row[i]) * scale - largest);
  }
  const float inverse = 1.0f / BlockSum<kThreads>(sum, scratch);
  const DropoutMaskRow factors = RowOf(mask, Row());
  for (int64_t i = FirstColumn(); i < length; i += kThreads) {
    const T p = FromFloat<T>(i < keys ? expf(ToFloat(row[i]) * scale - largest) * inverse : 0.0f);
    row[i] = p;
    if (dropped != nullptr) dropped[Row() * length + i] = FromFloat<T>(ToFloat(p) * factors(i));
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    DropProbabilitiesKernel(int64_t length, T* out, const T* in, DropoutMask mask) {
  AwaitPrevious();
  const DropoutMaskRow factors = RowOf(mask, Row());
  const int64_t first = Row() * length;
  for (int64_t i = FirstColumn(); i < length; i += kThreads) {
    out[first + i] = FromFloat<T>(ToFloat(in[first + i]) * factors(i));
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    CausalSoftmaxBackwardKernel(int64_t length, float scale, T* gradients, const T* probabilities,
                                DropoutMask mask) {
  AwaitPrevious();
  GP_SHARED(float, scratch, [kThreads / kWarpSize]);
  const int64_t keys = Row() % length + 1;
  T* d = gradients + Row() * length;
  const T* p = probabilities + Row() * length;
  const DropoutMaskRow factors = RowOf(mask, Row());
  float sum = 0;
  for (int64_t i = FirstColumn(); i < keys; i += kThreads) {
    sum += ToFloat(p[i]) * (ToFloat(d[i]) * factors(i));
  }
  sum = BlockSum<kThreads>(sum, scratch);
  for (int64_t i = FirstColumn(); i < length; i += kThreads) {
    const float gradient =
        i < keys ? ToFloat(p[i]) * (ToFloat(d[i]) * factors(i) - sum) * scale : 0.0f;
    d[i] = FromFloat<T>(gradient);
  }
}

template <typename Kernel, typename... Args>
void LaunchRows(Kernel kernel, int64_t rows, cudaStream_t stream, Args... args) {
  Launch(kernel, static_cast<unsigned int>(rows), kThreads, 0, stream, args...);
}

}  // namespace

void LaunchCausalSoftmax(const CausalSoftmax& args, cudaStream_t stream) {
  WithElementType(args.scores.type, [&](auto element) {
    using T = decltype(element);
    LaunchRows(CausalSoftmaxKernel<T>, args.rows, stream, args.length, args.scale,
               static_cast<T*>(args.scores.data), static_cast<T*>(args.dropped.data),
               MaskOf(args.dropout));
  });
}

void LaunchDropProbabilities(int64_t rows, int64_t length, Buffer out, Buffer in,
                             const Dropout& dropout, cudaStream_t stream) {
  WithElementType(in.type, [&](auto element) {
    using T = decltype(element);
    LaunchRows(DropProbabilitiesKernel<T>, rows, stream, length, static_cast<T*>(out.data),
               static_cast<const T*>(in.data), MaskOf(dropout));
  });
}

void LaunchCausalSoftmaxBackward(const CausalSoftmaxBackward& args, cudaStream_t stream) {
  WithElementType(args.d.type, [&](auto element) {
    using T = decltype(element);
    LaunchRows(CausalSoftmaxBackwardKernel<T>, args.rows, stream, args.length, args.scale,
               static_cast<T*>(args.d.data), static_cast<const T*>(args.probabilities.data),
               MaskOf(args.dropout));
  });
}

}  // namespace gp::engine
