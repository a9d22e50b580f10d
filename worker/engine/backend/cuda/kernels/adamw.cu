#include <cmath>

#include "worker/engine/backend/cuda/kernels/adamw.h"
#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/rounding.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

// 256 threads that each load four times 16 bytes saturate a multiprocessor's share of the memory
// bandwidth.
constexpr int kThreads = 256;
constexpr int kVector = 4;

// base^exponent for the bias corrections: by squaring, in double like PyTorch's.
double Power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 != 0) result *= base;
  }
  return result;
}

// The update's scalars, in the type of the values.
struct Factors {
  explicit Factors(const AdamWUpdate& args)
      : decay(static_cast<float>(1 - args.lr * args.weight_decay)),
        rate(static_cast<float>(args.lr / (1 - Power(args.beta1, args.step)))),
        root2(static_cast<float>(std::sqrt(1 - Power(args.beta2, args.step)))),
        eps(static_cast<float>(args.eps)),
        weight1(static_cast<float>(1 - args.beta1)),
        beta2(static_cast<float>(args.beta2)),
        weight2(static_cast<float>(1 - args.beta2)) {}

  float decay;
  float rate;
  float root2;
  float eps;
  float weight1;
  float beta2;
  float weight2;
};

// AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101), with the operations in the order of
// torch.optim.AdamW.
__device__ __forceinline__ void UpdateOne(const Factors& f, float gradient, float& m, float& v,
                                          float& p) {
  m = m + (gradient - m) * f.weight1;
  v = v * f.beta2 + f.weight2 * gradient * gradient;
  const float denominator = sqrtf(v) / f.root2 + f.eps;
  p = __fmul_rn(p, f.decay) - f.rate * (m / denominator);
}

struct State {
  int64_t count;
  const float* factor;  // multiplies the gradient; null: 1
  float* p;
  float* m;
  float* v;
  const float* g;
};

// T is the type of the working copy; a null `copy` is not written.
template <int kCount, typename T>
__device__ __forceinline__ void UpdateAt(const State& s, const Factors& f, float factor, T* copy,
                                         const StochasticRounding& rounding, int64_t i) {
  const auto g = LoadFloats<kCount>(s.g + i);
  auto m = LoadFloats<kCount>(s.m + i);
  auto v = LoadFloats<kCount>(s.v + i);
  auto p = LoadFloats<kCount>(s.p + i);
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    UpdateOne(f, __fmul_rn(g.lane[j], factor), m.lane[j], v.lane[j], p.lane[j]);
  }
  StoreFloats<kCount>(s.m + i, m);
  StoreFloats<kCount>(s.v + i, v);
  StoreFloats<kCount>(s.p + i, p);
  if (copy != nullptr) StoreRounded(copy, p, rounding, i);
}

template <int kCount, typename T>
__global__ void __launch_bounds__(kThreads)
    AdamWKernel(State s, Factors f, T* copy, StochasticRounding rounding) {
  AwaitPrevious();
  const float factor = s.factor == nullptr ? 1.0f : *s.factor;
  if (std::isnan(factor)) return;
  const int64_t i = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * kCount;
  if (i + kCount <= s.count) return UpdateAt<kCount>(s, f, factor, copy, rounding, i);
  for (int64_t j = i; j < s.count; ++j) UpdateAt<1>(s, f, factor, copy, rounding, j);
}

bool Vectorizes(const AdamWUpdate& u) {
  for (const void* pointer :
       {static_cast<const void*>(u.parameters), static_cast<const void*>(u.first_moment),
        static_cast<const void*>(u.second_moment), static_cast<const void*>(u.gradients)}) {
    if (!AlignedTo(pointer, kVector * 4)) return false;
  }
  return AlignedTo(u.working_copy, kVector * 2);
}

template <int kCount, typename T>
void LaunchTyped(const AdamWUpdate& u, cudaStream_t stream) {
  Launch(AdamWKernel<kCount, T>, BlocksFor(u.count, kThreads * kCount), kThreads, 0, stream,
         State{u.count, u.factor, u.parameters, u.first_moment, u.second_moment, u.gradients},
         Factors(u), reinterpret_cast<T*>(u.working_copy), u.rounding);
}

template <typename T>
void LaunchVectorized(const AdamWUpdate& u, cudaStream_t stream) {
  Vectorizes(u) ? LaunchTyped<kVector, T>(u, stream) : LaunchTyped<1, T>(u, stream);
}

}  // namespace

void LaunchAdamW(const AdamWUpdate& update, cudaStream_t stream) {
  if (update.count == 0) return;
  if (update.working_type == DataType::kFloat16) return LaunchVectorized<__half>(update, stream);
  LaunchVectorized<__nv_bfloat16>(update, stream);
}

}  // namespace gp::engine
