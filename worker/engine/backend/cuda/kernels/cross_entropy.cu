// One block per row. The maximum and the sum of exponentials are updated online (Milakov and
// Gimelshein 2018, arXiv:1805.02867), first per thread; then the block combines them.
//
// Memory traffic in bytes per bf16 logit: forward reads 2; backward reads 2 and writes 2; both in
// one kernel read 2 (4 if a row does not fit into shared memory) and write 2.
#include "worker/engine/backend/cuda/kernels/await_previous.cuh"
#include "worker/engine/backend/cuda/kernels/cross_entropy.h"
#include "worker/engine/backend/cuda/kernels/fast_exp.cuh"
#include "worker/engine/backend/cuda/kernels/reduction.cuh"
#include "worker/engine/backend/cuda/kernels/shared_memory.cuh"
#include "worker/engine/backend/cuda/kernels/vector_access.cuh"
#include "worker/engine/backend/cuda/runtime/launch.h"

namespace gp::engine {
namespace {

// Two blocks with a bf16 row of GPT-2 each fit into the shared memory of an sm_90 multiprocessor,
// which leaves 64 registers per thread.
constexpr int kThreads = 512;
constexpr int kBlocksPerMultiprocessor = 2;
constexpr int kSumThreads = 1024;

template <typename T>
struct Rows {
  int columns;
  int classes;
  T* logits;
  const int32_t* targets;
  float* lse;
  float* row_losses;
  float scale;
  const float* loss_scale;  // or absent
  int rows_at_a_time;       // rows that the device works on at a time; used for prefetching
};

// exp(x - subtrahend). For a 16-bit T it takes two instructions: the error of the power and of the
// rounded product subtrahend * log2 e is far below the rounding of the gradient.
template <typename T>
class ExpMinus {
 public:
  explicit __device__ ExpMinus(float subtrahend)
      : offset_(kFast ? subtrahend * kLog2E : subtrahend) {}

  __device__ __forceinline__ float operator()(float x) const {
    return kFast ? FastExp2(fmaf(x, kLog2E, -offset_)) : expf(x - offset_);
  }

 private:
  static constexpr bool kFast = !std::is_same_v<T, float>;
  float offset_;
};

// The largest value so far and the sum of exp(value - largest). The initial `largest` is below
// every realistic logit and stays finite when it is multiplied by log2 e, so that a logit of -inf
// adds 0.
struct OnlineSum {
  float largest = -2e38f;
  float sum = 0;
};

// The factor of a sum when the largest value changes; exactly 1 when it does not change.
template <typename T>
__device__ __forceinline__ float Correction(float largest, float new_largest) {
  return ExpMinus<T>(0)(largest - new_largest);
}

template <typename T, int kLanes>
__device__ __forceinline__ void AddTo(OnlineSum& online, const Floats<kLanes>& values) {
  float largest = online.largest;
#pragma unroll
  for (int i = 0; i < kLanes; ++i) largest = fmaxf(largest, values.lane[i]);
  float sum = online.sum * Correction<T>(online.largest, largest);
  const ExpMinus<T> exp_minus_largest(largest);
#pragma unroll
  for (int i = 0; i < kLanes; ++i) sum += exp_minus_largest(values.lane[i]);
  online = {largest, sum};
}

// Returns the log of the softmax denominator to every thread.
template <typename T>
__device__ float LogSumExp(const OnlineSum& online, float* scratch) {
  const float largest = BlockMax<kThreads>(online.largest, scratch);
  const float sum =
      BlockSum<kThreads>(online.sum * Correction<T>(online.largest, largest), scratch);
  return largest + logf(sum);
}

// The values that begin at `column`, with `padding` in place of those that belong to no class.
template <int kLanes>
__device__ __forceinline__ Floats<kLanes> MaskPadding(Floats<kLanes> values, int column,
                                                      int classes, float padding) {
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    if (column + i >= classes) values.lane[i] = padding;
  }
  return values;
}

// How the threads of a block share a row: thread t has every kThreads-th vector of kLanes columns
// from the t-th on. Both passes over a row use it, so that a thread reads back its own values.
template <int kLanes>
struct ThreadColumns {
  static constexpr int kStride = kThreads * kLanes;
  // Vectors that are loaded at a time.
  static constexpr int kBatch = 4;

  // Exactly one thread owns a column, also a negative one (a target that is ignored).
  static __device__ __forceinline__ bool Owns(int column) {
    return static_cast<unsigned int>(column) / kLanes % kThreads == threadIdx.x;
  }

  // Calls use(column, vector) for this thread's vectors without padding, in ascending order;
  // returns its first remaining column.
  template <typename T, typename Use>
  static __device__ __forceinline__ int ForFullVectors(const T* row, int classes, Use use) {
    int c = static_cast<int>(threadIdx.x) * kLanes;
    for (; c + (kBatch - 1) * kStride + kLanes <= classes; c += kBatch * kStride) {
      Packed<T, kLanes> batch[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) batch[i] = LoadPacked<kLanes>(row + c + i * kStride);
#pragma unroll
      for (int i = 0; i < kBatch; ++i) use(c + i * kStride, batch[i]);
    }
#pragma unroll 1
    for (; c + kLanes <= classes; c += kStride) use(c, LoadPacked<kLanes>(row + c));
    return c;
  }
};

// Prefetches the beginning of the row that is computed after this block, as much as its threads
// read before the first of them waits. It arrives in the second-level cache while this row's
// gradient is written. One thread calls.
template <int kLanes, typename T>
__device__ __forceinline__ void PrefetchNextRow(const Rows<T>& rows) {
  const unsigned int row = blockIdx.x + static_cast<unsigned int>(rows.rows_at_a_time);
  if (kLanes == 1 || row >= gridDim.x) return;
  constexpr int kColumns = ThreadColumns<kLanes>::kBatch * ThreadColumns<kLanes>::kStride;
  PrefetchToCache(rows.logits + int64_t{row} * rows.columns, min(kColumns, rows.columns));
}

// Source of the second pass over a row.
enum class Second { kNever, kFromMemory, kFromShared };

// Returns the online sum over this thread's columns of the row.
template <int kLanes, Second kSecond, typename T>
__device__ __forceinline__ OnlineSum SumOfColumns(const Rows<T>& rows, const T* logits,
                                                  T* shared_row) {
  OnlineSum online;
  const auto keep = [&](int column, const Packed<T, kLanes>& vector) {
    if constexpr (kSecond == Second::kFromShared) StorePacked(shared_row + column, vector);
  };
  const int c = ThreadColumns<kLanes>::ForFullVectors(
      logits, rows.classes, [&](int column, const Packed<T, kLanes>& vector) {
        keep(column, vector);
        AddTo<T>(online, Unpack(vector));
      });
  if (c < rows.classes) {
    const Packed<T, kLanes> vector = LoadPacked<kLanes>(logits + c);
    keep(c, vector);
    AddTo<T>(online, MaskPadding(Unpack(vector), c, rows.classes, -INFINITY));
  }
  return online;
}

// Writes zeros to this thread's columns, beginning with `column`.
template <int kLanes, typename T>
__device__ __forceinline__ void WriteZeros(const Rows<T>& rows, T* gradient, int column) {
#pragma unroll 1
  for (int c = column; c < rows.columns; c += ThreadColumns<kLanes>::kStride) {
    StoreFloats<kLanes>(gradient + c, Floats<kLanes>{});
  }
}

// Values for the thread that owns the target's column. An ignored row has an owner, too.
template <int kLanes>
struct Target {
  template <typename T>
  __device__ Target(const Rows<T>& rows, const T* logits)
      : column(rows.targets[blockIdx.x]),
        is_owner(ThreadColumns<kLanes>::Owns(column)),
        logit(is_owner && !is_ignored() ? ToFloat(logits[column]) : 0.0f) {}

  __device__ bool is_ignored() const { return column < 0; }

  int column;
  bool is_owner;
  float logit;
};

// Writes the gradient of this thread's columns. `logits` is the row or a copy of it.
template <int kLanes, typename T>
__device__ __forceinline__ void WriteGradient(const Rows<T>& rows, T* gradient, const T* logits,
                                              float lse, const Target<kLanes>& target) {
  using Columns = ThreadColumns<kLanes>;
  if (target.is_ignored()) {
    WriteZeros<kLanes>(rows, gradient, static_cast<int>(threadIdx.x) * kLanes);
    return;
  }
  const float scale = rows.loss_scale != nullptr ? rows.scale * *rows.loss_scale : rows.scale;
  const ExpMinus<T> softmax(lse);
  const auto scaled_softmax = [&](const Packed<T, kLanes>& vector) {
    Floats<kLanes> values = Unpack(vector);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) values.lane[i] = scale * softmax(values.lane[i]);
    return values;
  };
  int c = Columns::ForFullVectors(logits, rows.classes,
                                  [&](int column, const Packed<T, kLanes>& vector) {
                                    StoreFloats<kLanes>(gradient + column, scaled_softmax(vector));
                                  });
  if (c < rows.classes) {
    const Floats<kLanes> values = scaled_softmax(LoadPacked<kLanes>(logits + c));
    StoreFloats<kLanes>(gradient + c, MaskPadding(values, c, rows.classes, 0.0f));
    c += Columns::kStride;
  }
  WriteZeros<kLanes>(rows, gradient, c);
  // Overwrites a value that this thread has just written, so the loop need not compare columns with
  // the target.
  if (target.is_owner) {
    gradient[target.column] = FromFloat<T>(scale * (softmax(target.logit) - 1));
  }
}

template <int kLanes, Second kSecond, typename T>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    CrossEntropyKernel(const Rows<T> rows) {
  AwaitPrevious();
  GP_SHARED(float, scratch, [kThreads / kWarpSize]);
  GP_DYNAMIC_SHARED(T, shared_row);
  const int64_t row = blockIdx.x;
  T* logits = rows.logits + row * rows.columns;
  // Read before the pass over the row, so that no thread has to wait for it afterwards.
  const Target<kLanes> target(rows, logits);
  const OnlineSum online = SumOfColumns<kLanes, kSecond>(rows, logits, shared_row);
  if (kSecond == Second::kFromShared && threadIdx.x == 0) PrefetchNextRow<kLanes>(rows);
  const float lse = LogSumExp<T>(online, scratch);
  if (threadIdx.x == 0) rows.lse[row] = lse;
  if (target.is_owner) rows.row_losses[row] = target.is_ignored() ? 0.0f : lse - target.logit;
  if constexpr (kSecond != Second::kNever) {
    const T* from = kSecond == Second::kFromShared ? shared_row : logits;
    WriteGradient<kLanes>(rows, logits, from, lse, target);
  }
}

template <int kLanes, typename T>
__global__ void __launch_bounds__(kThreads) GradientKernel(const Rows<T> rows) {
  AwaitPrevious();
  const int64_t row = blockIdx.x;
  T* logits = rows.logits + row * rows.columns;
  WriteGradient<kLanes>(rows, logits, logits, rows.lse[row], Target<kLanes>(rows, logits));
}

// *loss += the sum of row_losses; one block.
__global__ void __launch_bounds__(kSumThreads)
    AddLossesKernel(int64_t rows, const float* row_losses, double* loss) {
  AwaitPrevious();
  GP_SHARED(double, scratch, [kSumThreads / kWarpSize]);
  double sum = 0;
  for (int64_t row = threadIdx.x; row < rows; row += kSumThreads) sum += row_losses[row];
  sum = BlockSum<kSumThreads>(sum, scratch);
  if (threadIdx.x == 0) *loss += sum;
}

template <typename T>
Rows<T> RowsOf(const CrossEntropyLoss& forward, const CrossEntropyGradient& backward,
               float* row_losses) {
  return {.columns = static_cast<int>(forward.shape.columns),
          .classes = static_cast<int>(forward.shape.classes),
          .logits = static_cast<T*>(forward.logits.data),
          .targets = forward.targets,
          .lse = forward.lse,
          .row_losses = row_losses,
          .scale = backward.scale,
          .loss_scale = backward.loss_scale,
          .rows_at_a_time = 0};
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
    const Rows<T> rows{.columns = static_cast<int>(args.shape.columns),
                       .classes = static_cast<int>(args.shape.classes),
                       .logits = static_cast<T*>(args.logits.data),
                       .targets = args.targets,
                       .lse = const_cast<float*>(args.lse),
                       .row_losses = nullptr,
                       .scale = args.scale,
                       .loss_scale = args.loss_scale,
                       .rows_at_a_time = 0};
    WithLanes<sizeof(T)>(args.shape.columns, [&](auto lanes) {
      Launch(&GradientKernel<decltype(lanes)::value, T>, static_cast<unsigned int>(args.shape.rows),
             kThreads, 0, stream, rows);
    });
  });
}

void LaunchCrossEntropy(const CrossEntropyLoss& forward, const CrossEntropyGradient& backward,
                        float* row_losses, cudaStream_t stream, int64_t shared_bytes) {
  if (forward.shape.rows == 0) return;
  // Shared memory of the kernel besides the row.
  constexpr int64_t kScratchBytes = kThreads / kWarpSize * static_cast<int64_t>(sizeof(float));
  const int64_t row_bytes = forward.shape.columns * BytesOf(forward.logits.type);
  WithElementType(forward.logits.type, [&](auto t) {
    Rows<decltype(t)> rows = RowsOf<decltype(t)>(forward, backward, row_losses);
    if (row_bytes + kScratchBytes <= shared_bytes) {
      const bool two_fit = 2 * (row_bytes + kScratchBytes) <= shared_bytes;
      rows.rows_at_a_time = (two_fit ? kBlocksPerMultiprocessor : 1) * MultiprocessorsOfDevice();
      LaunchRows<Second::kFromShared>(rows, forward.shape.rows, static_cast<size_t>(row_bytes),
                                      stream);
    } else {
      LaunchRows<Second::kFromMemory>(rows, forward.shape.rows, 0, stream);
    }
  });
  LaunchAddLosses(forward, row_losses, stream);
}

}  // namespace gp::engine
