#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/flat.h"
#include "worker/engine/backend/cuda/kernels/rounding.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

constexpr int kThreads = 256;
constexpr int kVector = 4;

__device__ __forceinline__ int64_t FirstOf(int64_t per_thread) {
  return (int64_t{blockIdx.x} * kThreads + threadIdx.x) * per_thread;
}

template <int kCount, typename T>
__device__ __forceinline__ void RoundAt(T* out, const float* in, const StochasticRounding& rounding,
                                        int64_t i) {
  StoreRounded(out, LoadFloats<kCount>(in + i), rounding, i);
}

template <int kCount, typename T>
__global__ void __launch_bounds__(kThreads)
    RoundKernel(int64_t count, T* out, const float* in, StochasticRounding rounding) {
  AwaitPrevious();
  const int64_t i = FirstOf(kCount);
  if (i + kCount <= count) return RoundAt<kCount>(out, in, rounding, i);
  for (int64_t j = i; j < count; ++j) RoundAt<1>(out, in, rounding, j);
}

template <int kCount, typename To, typename From>
__device__ __forceinline__ void ConvertAt(To* out, const From* in, int64_t i) {
  StoreFloats<kCount>(out + i, LoadFloats<kCount>(in + i));
}

template <int kCount, typename To, typename From>
__global__ void __launch_bounds__(kThreads) ConvertKernel(int64_t count, To* out, const From* in) {
  AwaitPrevious();
  const int64_t i = FirstOf(kCount);
  if (i + kCount <= count) return ConvertAt<kCount>(out, in, i);
  for (int64_t j = i; j < count; ++j) ConvertAt<1>(out, in, j);
}

struct Terms {
  float a;
  const float* x;
  float b;
  const float* y;  // or null
};

template <int kCount>
__device__ __forceinline__ void AxpbyAt(float* out, const Terms& t, int64_t i) {
  auto values = LoadFloats<kCount>(t.x + i);
#pragma unroll
  for (int j = 0; j < kCount; ++j) values.lane[j] = __fmul_rn(t.a, values.lane[j]);
  if (t.y != nullptr) {
    const auto others = LoadFloats<kCount>(t.y + i);
#pragma unroll
    for (int j = 0; j < kCount; ++j) values.lane[j] += __fmul_rn(t.b, others.lane[j]);
  }
  StoreFloats<kCount>(out + i, values);
}

template <int kCount>
__global__ void __launch_bounds__(kThreads) AxpbyKernel(int64_t count, float* out, Terms terms) {
  AwaitPrevious();
  const int64_t i = FirstOf(kCount);
  if (i + kCount <= count) return AxpbyAt<kCount>(out, terms, i);
  for (int64_t j = i; j < count; ++j) AxpbyAt<1>(out, terms, j);
}

template <int kCount, typename To, typename From>
void LaunchConvertTyped(int64_t count, To* out, const From* in, cudaStream_t stream) {
  Launch(ConvertKernel<kCount, To, From>, BlocksFor(count, kThreads * kCount), kThreads, 0, stream,
         count, out, in);
}

}  // namespace

void LaunchRound(int64_t count, Buffer out, const float* in, const StochasticRounding& rounding,
                 cudaStream_t stream) {
  if (count == 0) return;
  const bool vectorizes = AlignedTo(in, kVector * 4) && AlignedTo(out.data, kVector * 2);
  WithElementType(out.type, [&](auto element) {
    using T = decltype(element);
    if constexpr (sizeof(T) == 2) {
      auto* to = static_cast<T*>(out.data);
      const int per_thread = vectorizes ? kVector : 1;
      Launch(vectorizes ? RoundKernel<kVector, T> : RoundKernel<1, T>,
             BlocksFor(count, kThreads * per_thread), kThreads, 0, stream, count, to, in, rounding);
    }
  });
}

void LaunchConvert(int64_t count, Buffer out, Buffer in, cudaStream_t stream) {
  if (count == 0) return;
  const bool vectorizes = AlignedTo(in.data, static_cast<size_t>(kVector * BytesOf(in.type))) &&
                          AlignedTo(out.data, static_cast<size_t>(kVector * BytesOf(out.type)));
  WithElementType(out.type, [&](auto to) {
    WithElementType(in.type, [&](auto from) {
      auto* target = static_cast<decltype(to)*>(out.data);
      const auto* source = static_cast<const decltype(from)*>(in.data);
      vectorizes ? LaunchConvertTyped<kVector>(count, target, source, stream)
                 : LaunchConvertTyped<1>(count, target, source, stream);
    });
  });
}

void LaunchAxpby(int64_t count, float* out, float a, const float* x, float b, const float* y,
                 cudaStream_t stream) {
  if (count == 0) return;
  const bool vectorizes =
      AlignedTo(out, kVector * 4) && AlignedTo(x, kVector * 4) && AlignedTo(y, kVector * 4);
  const int per_thread = vectorizes ? kVector : 1;
  Launch(vectorizes ? AxpbyKernel<kVector> : AxpbyKernel<1>,
         BlocksFor(count, kThreads * per_thread), kThreads, 0, stream, count, out,
         Terms{a, x, b, y});
}

}  // namespace gp::engine
