// Memory traffic per element of y in a 16-bit type: reads 2 bytes and writes 2. The bias comes from
// the cache.
#include <algorithm>

#include "worker/engine/backend/cuda/kernels/add_bias.h"
#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

constexpr int kThreads = 256;

template <int kLanes, typename Y, typename B>
__global__ void __launch_bounds__(kThreads)
    AddBiasKernel(int64_t count, int64_t columns, Y* y, const B* bias) {
  AwaitPrevious();
  const int64_t first = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * kLanes;
  if (first >= count) return;
  Floats<kLanes> values = LoadFloats<kLanes>(y + first);
  const Floats<kLanes> added = LoadFloats<kLanes>(bias + first % columns);
#pragma unroll
  for (int i = 0; i < kLanes; ++i) values.lane[i] += added.lane[i];
  StoreFloats<kLanes>(y + first, values);
}

}  // namespace

void LaunchAddBias(int64_t rows, int64_t columns, Buffer y, Buffer bias, cudaStream_t stream) {
  const int64_t count = rows * columns;
  if (count == 0) return;
  WithElementTypes(y.type, bias.type, [&](auto y_element, auto bias_element) {
    using Y = decltype(y_element);
    using B = decltype(bias_element);
    WithLanes<static_cast<int>(std::max(sizeof(Y), sizeof(B)))>(columns, [&](auto lanes) {
      Launch(AddBiasKernel<lanes(), Y, B>, dim3(BlocksFor(count, int64_t{kThreads} * lanes())),
             dim3(kThreads), 0, stream, count, columns, static_cast<Y*>(y.data),
             static_cast<const B*>(bias.data));
    });
  });
}

}  // namespace gp::engine
