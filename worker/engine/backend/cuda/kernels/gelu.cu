#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/gelu.cuh"
#include "worker/engine/backend/cuda/kernels/gelu.h"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

constexpr int kThreads = 256;

template <typename Form, int kCount, typename T>
__device__ __forceinline__ void ForwardAt(T* out, const T* in, int64_t i) {
  auto values = LoadFloats<kCount>(in + i);
#pragma unroll
  for (int j = 0; j < kCount; ++j) values.lane[j] = Form::Value(values.lane[j]);
  StoreFloats<kCount>(out + i, values);
}

template <typename Form, int kCount, typename T>
__global__ void __launch_bounds__(kThreads) GeluForwardKernel(int64_t count, T* out, const T* in) {
  AwaitPrevious();
  const int64_t i = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * kCount;
  if (i + kCount <= count) return ForwardAt<Form, kCount>(out, in, i);
  for (int64_t j = i; j < count; ++j) ForwardAt<Form, 1>(out, in, j);
}

template <typename Form, int kCount, typename T>
__device__ __forceinline__ void BackwardAt(T* dy, const T* in, int64_t i) {
  const auto values = LoadFloats<kCount>(in + i);
  auto gradients = LoadFloats<kCount>(dy + i);
#pragma unroll
  for (int j = 0; j < kCount; ++j) gradients.lane[j] *= Form::Derivative(values.lane[j]);
  StoreFloats<kCount>(dy + i, gradients);
}

template <typename Form, int kCount, typename T>
__global__ void __launch_bounds__(kThreads) GeluBackwardKernel(int64_t count, T* dy, const T* in) {
  AwaitPrevious();
  const int64_t i = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * kCount;
  if (i + kCount <= count) return BackwardAt<Form, kCount>(dy, in, i);
  for (int64_t j = i; j < count; ++j) BackwardAt<Form, 1>(dy, in, j);
}

// Calls body with the form of GELU, the element type, and how many elements move at a time.
template <typename Body>
void WithGelu(runspec::Gelu kind, DataType type, bool aligned, Body body) {
  WithElementType(type, [&](auto element) {
    using T = decltype(element);
    const auto with_form = [&](auto form) {
      if (aligned) return body(form, element, std::integral_constant<int, 16 / sizeof(T)>());
      body(form, element, std::integral_constant<int, 1>());
    };
    kind == runspec::Gelu::kErf ? with_form(DeviceGeluErf()) : with_form(DeviceGeluTanh());
  });
}

}  // namespace

void LaunchGeluForward(int64_t count, runspec::Gelu kind, Buffer out, Buffer in,
                       cudaStream_t stream) {
  if (count == 0) return;
  const bool aligned = AlignedTo(out.data, 16) && AlignedTo(in.data, 16);
  WithGelu(kind, in.type, aligned, [&](auto form, auto element, auto vector) {
    using T = decltype(element);
    Launch(GeluForwardKernel<decltype(form), vector(), T>, BlocksFor(count, kThreads * vector()),
           kThreads, 0, stream, count, static_cast<T*>(out.data), static_cast<const T*>(in.data));
  });
}

void LaunchGeluBackward(int64_t count, runspec::Gelu kind, Buffer dy, Buffer in,
                        cudaStream_t stream) {
  if (count == 0) return;
  const bool aligned = AlignedTo(dy.data, 16) && AlignedTo(in.data, 16);
  WithGelu(kind, in.type, aligned, [&](auto form, auto element, auto vector) {
    using T = decltype(element);
    Launch(GeluBackwardKernel<decltype(form), vector(), T>, BlocksFor(count, kThreads * vector()),
           kThreads, 0, stream, count, static_cast<T*>(dy.data), static_cast<const T*>(in.data));
  });
}

}  // namespace gp::engine
