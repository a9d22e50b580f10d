// One block per row. The maximum and the sum of exponentials are kept online (Milakov and
// Gimelshein 2018, arXiv:1805.02867): each thread's own, then the block's.
//
// Bytes per logit, bf16: forward 2, backward 2 + 2, both in one 2 + 2 (2 + 2 + 2 where a row does
// not fit into shared memory).
#include "worker/engine/backend/cuda/kernels/cross_entropy.h"
#include "worker/engine/backend/cuda/kernels/reduction.cuh"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/cuda/launch.h"

namespace gp::engine {
namespace {

// Two blocks with a bf16 row of GPT-2 each fit into the shared memory of an sm_90 multiprocessor,
// which leaves 64 registers to each of their threads.
constexpr int kThreads = 512;
constexpr int kSumThreads = 1024;

template <typename T>
struct Rows {
  int64_t columns;
  int64_t classes;
  T* logits;
  const int32_t* targets;
  float* lse;
  float* row_losses;
  float scale;
  const float* loss_scale;  // or absent
};

// exp of a logit minus something as large: the fast form's error is far below the rounding of a
// 16-bit gradient.
template <typename T>
__device__ __forceinline__ float Exp(float x) {
  if constexpr (std::is_same_v<T, float>) {
    return expf(x);
  } else {
    return __expf(x);
  }
}

// The largest value so far and the sum of exp(value - largest).
struct OnlineSum {
  float largest = -3.4e38f;
  float sum = 0;
};

// Takes in the values that begin at `column`, of which those of padding do not count.
template <typename T, int kLanes>
__device__ __forceinline__ void AddTo(OnlineSum& online, const Floats<kLanes>& values,
                                      int64_t column, int64_t classes) {
  float largest = online.largest;
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    if (column + i < classes) largest = fmaxf(largest, values.lane[i]);
  }
  float sum = online.sum * Exp<T>(online.largest - largest);
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    if (column + i < classes) sum += Exp<T>(values.lane[i] - largest);
  }
  online = {largest, sum};
}

// The log of the softmax denominator, in every thread.
template <typename T>
__device__ float LogSumExp(const OnlineSum& online, float* scratch) {
  const float largest = BlockMax<kThreads>(online.largest, scratch);
  const float sum = BlockSum<kThreads>(online.sum * Exp<T>(online.largest - largest), scratch);
  return largest + logf(sum);
}

// The gradient of the values that begin at `column`, in their place.
template <typename T, int kLanes>
__device__ __forceinline__ void TurnIntoGradient(Floats<kLanes>& values, int64_t column,
                                                 int64_t classes, float lse, int32_t target,
                                                 float scale) {
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    const float onehot = column + i == target ? 1.0f : 0.0f;
    const float gradient = scale * (Exp<T>(values.lane[i] - lse) - onehot);
    values.lane[i] = target >= 0 && column + i < classes ? gradient : 0.0f;
  }
}

template <typename T>
__device__ float ScaleOf(const Rows<T>& rows) {
  return rows.loss_scale != nullptr ? rows.scale * *rows.loss_scale : rows.scale;
}

// Where a row is read the second time.
enum class Second { kNever, kFromMemory, kFromShared };

template <int kLanes, Second kSecond, typename T>
__global__ void __launch_bounds__(kThreads, 2) CrossEntropyKernel(const Rows<T> rows) {
  GP_SHARED(float, scratch, [kThreads / kWarpSize]);
  GP_DYNAMIC_SHARED(T, shared_row);
  const int64_t row = blockIdx.x;
  T* logits = rows.logits + row * rows.columns;
  const int64_t first = static_cast<int64_t>(threadIdx.x) * kLanes;
  constexpr int64_t kStride = int64_t{kThreads} * kLanes;

  OnlineSum online;
  for (int64_t c = first; c < rows.columns; c += kStride) {
    const Floats<kLanes> values = LoadFloats<kLanes>(logits + c);
    if constexpr (kSecond == Second::kFromShared) StoreFloats<kLanes>(shared_row + c, values);
    AddTo<T>(online, values, c, rows.classes);
  }
  const float lse = LogSumExp<T>(online, scratch);
  const int32_t target = rows.targets[row];
  if (threadIdx.x == 0) {
    rows.lse[row] = lse;
    rows.row_losses[row] = target < 0 ? 0.0f : lse - ToFloat(logits[target]);
  }
  if constexpr (kSecond != Second::kNever) {
    const T* from = kSecond == Second::kFromShared ? shared_row : logits;
    const float scale = ScaleOf(rows);
    // The target's logit has been read before anyone overwrites it.
    __syncthreads();
    for (int64_t c = first; c < rows.columns; c += kStride) {
      Floats<kLanes> values = LoadFloats<kLanes>(from + c);
      TurnIntoGradient<T>(values, c, rows.classes, lse, target, scale);
      StoreFloats<kLanes>(logits + c, values);
    }
  }
}

template <int kLanes, typename T>
__global__ void __launch_bounds__(kThreads) GradientKernel(const Rows<T> rows) {
  const int64_t row = blockIdx.x;
  T* logits = rows.logits + row * rows.columns;
  const float lse = rows.lse[row];
  const int32_t target = rows.targets[row];
  const float scale = ScaleOf(rows);
  for (int64_t c = static_cast<int64_t>(threadIdx.x) * kLanes; c < rows.columns;
       c += int64_t{kThreads} * kLanes) {
    Floats<kLanes> values = LoadFloats<kLanes>(logits + c);
    TurnIntoGradient<T>(values, c, rows.classes, lse, target, scale);
    StoreFloats<kLanes>(logits + c, values);
  }
}

// *loss += the sum of row_losses; one block.
__global__ void __launch_bounds__(kSumThreads)
    AddLossesKernel(int64_t rows, const float* row_losses, double* loss) {
  GP_SHARED(double, scratch, [kSumThreads / kWarpSize]);
  double sum = 0;
  for (int64_t row = threadIdx.x; row < rows; row += kSumThreads) sum += row_losses[row];
  sum = BlockSum<kSumThreads>(sum, scratch);
  if (threadIdx.x == 0) *loss += sum;
}

template <typename T>
Rows<T> RowsOf(const CrossEntropyLoss& forward, const CrossEntropyGradient& backward,
               float* row_losses) {
  return {.columns = forward.shape.columns,
          .classes = forward.shape.classes,
          .logits = static_cast<T*>(forward.logits.data),
          .targets = forward.targets,
          .lse = forward.lse,
          .row_losses = row_losses,
          .scale = backward.scale,
          .loss_scale = backward.loss_scale};
}

template <Second kSecond, typename T>
void LaunchRows(const Rows<T>& rows, int64_t count, size_t shared_bytes, cudaStream_t stream) {
  WithLanes<sizeof(T)>(rows.columns, [&](auto lanes) {
    Launch(&CrossEntropyKernel<decltype(lanes)::value, kSecond, T>,
           static_cast<unsigned int>(count), kThreads, shared_bytes, stream, rows);
  });
}

void LaunchAddLosses(const CrossEntropyLoss& args, const float* row_losses, cudaStream_t stream) {
  Launch(&AddLossesKernel, 1, kSumThreads, 0, stream, args.shape.rows, row_losses, args.loss);
}

}  // namespace

void LaunchCrossEntropyForward(const CrossEntropyLoss& args, float* row_losses,
                               cudaStream_t stream) {
  if (args.shape.rows == 0) return;
  WithElementType(args.logits.type, [&](auto t) {
    LaunchRows<Second::kNever>(RowsOf<decltype(t)>(args, {}, row_losses), args.shape.rows, 0,
                               stream);
  });
  LaunchAddLosses(args, row_losses, stream);
}

void LaunchCrossEntropyBackward(const CrossEntropyGradient& args, cudaStream_t stream) {
  if (args.shape.rows == 0) return;
  WithElementType(args.logits.type, [&](auto t) {
    using T = decltype(t);
    const Rows<T> rows{.columns = args.shape.columns,
                       .classes = args.shape.classes,
                       .logits = static_cast<T*>(args.logits.data),
                       .targets = args.targets,
                       .lse = const_cast<float*>(args.lse),
                       .row_losses = nullptr,
                       .scale = args.scale,
                       .loss_scale = args.loss_scale};
    WithLanes<sizeof(T)>(args.shape.columns, [&](auto lanes) {
      Launch(&GradientKernel<decltype(lanes)::value, T>, static_cast<unsigned int>(args.shape.rows),
             kThreads, 0, stream, rows);
    });
  });
}

int64_t SharedBytesOfDevice() {
  int device = 0;
  int bytes = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  CheckCuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
            "shared memory of a block");
  return bytes;
}

void LaunchCrossEntropy(const CrossEntropyLoss& forward, const CrossEntropyGradient& backward,
                        float* row_losses, cudaStream_t stream, int64_t shared_bytes) {
  if (forward.shape.rows == 0) return;
  // What the kernel has besides the row.
  constexpr int64_t kScratchBytes = kThreads / kWarpSize * static_cast<int64_t>(sizeof(float));
  const int64_t row_bytes = forward.shape.columns * BytesOf(forward.logits.type);
  WithElementType(forward.logits.type, [&](auto t) {
    const Rows<decltype(t)> rows = RowsOf<decltype(t)>(forward, backward, row_losses);
    if (row_bytes + kScratchBytes <= shared_bytes) {
      LaunchRows<Second::kFromShared>(rows, forward.shape.rows, static_cast<size_t>(row_bytes),
                                      stream);
    } else {
      LaunchRows<Second::kFromMemory>(rows, forward.shape.rows, 0, stream);
    }
  });
  LaunchAddLosses(forward, row_losses, stream);
}

}  // namespace gp::engine
