// Backend: the operations that make up a GPT-2 training step, on raw pointers, sizes and one queue
// of work. The model (model/gpt2.h) is written once over it; backend/cpu and backend/cuda implement
// it. Standard library only.
//
// Notation: B sequences of T tokens, N = B*T rows, C channels, H heads, D = C/H, V vocabulary of
// which Vp rows are stored. Matrices are row-major. "=" overwrites, "+=" accumulates. Sums run in
// an order that depends on the sizes of the summed axis alone, never on the number of threads or
// rows, so equal inputs give equal bits on every rank and in every batch (a device does not promise
// the same for other numbers of rows). Activations are fp32, or bf16 or fp16 where a Buffer carries
// the compute type. Errors are exceptions. Use it from one thread (except Fetch).
//
// Every pointer and Buffer that an operation takes is backend memory (Allocate), unless its comment
// says otherwise. The host may be unable to access backend memory. Operations are queued: they run
// in the order of the calls, and only Download, AwaitDownload, Synchronize, a large Upload and the
// forms that return a value wait for them. On a CPU each operation is finished when it returns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>

#include "plan/model_shape.h"

namespace gp::engine {

enum class DataType { kFloat32, kBfloat16, kFloat16 };

constexpr int64_t BytesOf(DataType type) { return type == DataType::kFloat32 ? 4 : 2; }

// A typed pointer into the arena. A null Buffer means "absent" where a comment allows it.
struct Buffer {
  void* data = nullptr;
  DataType type = DataType::kFloat32;

  float* f32() const { return static_cast<float*>(data); }
  uint16_t* bf16() const { return static_cast<uint16_t*>(data); }
  uint16_t* fp16() const { return static_cast<uint16_t*>(data); }
  // The Buffer that begins `elements` after this one.
  Buffer From(int64_t elements) const {
    return {static_cast<std::byte*>(data) + elements * BytesOf(type), type};
  }
};

inline Buffer Fp32(float* data) { return {data, DataType::kFloat32}; }

// Keyed dropout: element (row, column) of site s in step t of shard v is kept iff a hash of (seed,
// t, v, micro_batch, s, row, column) says so, whatever the world size (dropout_key.h). probability
// = 0 turns it off. With `key`, *key replaces DropoutBatchKey(seed, step, shard, micro_batch), and
// these four are not read. So changing *key gives a replayed pass another mask.
struct Dropout {
  double probability = 0;
  uint64_t seed = 0;
  uint64_t step = 0;
  uint32_t shard = 0;
  uint32_t micro_batch = 0;
  uint32_t site = 0;
  const uint64_t* key = nullptr;  // or absent
};

// A Linear layer's sizes: x (rows, in), w (out, in), y (rows, out).
struct LinearShape {
  int64_t rows = 0;
  int64_t in = 0;
  int64_t out = 0;
};

// y = x w^T + bias; with `gelu`, also gelu = Gelu(y as stored). x, w and bias share the compute
// type. With `added`, y = added + x w^T + bias; then bias and added have y's type, and there is no
// gelu. Only for a backend that adds_in_products(). `may_be_fp8` is true for the four layers of a
// block. Precision fp8 computes y and dx of these in fp8 if all their sizes are multiples of 16,
// and dw in 16 bits; with other precisions `may_be_fp8` has no effect.
struct LinearForward {
  LinearShape shape;
  Buffer y;
  Buffer x;
  Buffer w;
  Buffer bias;  // (out) or absent
  Buffer gelu;  // (rows, out) or absent
  runspec::Gelu kind = runspec::Gelu::kTanh;
  bool may_be_fp8 = false;
  bool w_packed = false;  // w was packed with Pack
  Buffer added;           // (rows, out) or absent; not y
};

// Rows [first, first + count) of a Linear layer's w (out, in), to be stored in its packed form, the
// order in which the backend's products read weights fastest. Both forms have the same type.
struct WeightRows {
  int64_t in = 0;
  int64_t first = 0;  // a multiple of runspec::kPackedColumns
  int64_t count = 0;
  Buffer packed;  // the whole weight: runspec::PackedWeightElements(out, in)
  Buffer rows;    // (count, in)
};

// dx = dy w; with `pre_gelu`, dx = (dy w) * Gelu'(pre_gelu): the gradient before the activation
// that made this layer's x. With `dbias`, dbias (+)= the column sums of dx, the gradient of the
// bias in front of that activation; a device may sum dx before it is rounded, and round the sum
// like dx.
struct LinearBackwardInput {
  LinearShape shape;
  Buffer dx;
  Buffer dy;
  Buffer w;
  Buffer pre_gelu;  // (rows, in) or absent
  runspec::Gelu kind = runspec::Gelu::kTanh;
  bool may_be_fp8 = false;
  float* dbias = nullptr;  // (in) or absent
  bool accumulate_bias = false;
};

// dw = dy^T x and dbias = column sums of dy, in fp32; `accumulate` makes both "+=".
struct LinearBackwardWeight {
  LinearShape shape;
  float* dw = nullptr;
  float* dbias = nullptr;  // or absent
  Buffer dy;
  Buffer x;
  bool accumulate = false;
};

// c (size, size) = a b^T with a and b (size, depth), or if `transposed` a^T b with a and b (depth,
// size); fp32. c must be symmetric in exact arithmetic: a backend may compute one half of it and
// mirror it. c overlaps neither a nor b.
struct SymmetricProduct {
  int64_t size = 0;
  int64_t depth = 0;
  float* c = nullptr;
  float* a = nullptr;
  float* b = nullptr;
  bool transposed = false;
};

// out = (in - mean) * rstd * gamma + beta for each row of `in` (rows, channels); eps = 1e-5. `in`
// has the residual stream's type, `out` the compute type.
struct LayerNorm {
  int64_t rows = 0;
  int64_t channels = 0;
  Buffer out;
  float* mean = nullptr;  // (rows)
  float* rstd = nullptr;  // (rows)
  Buffer in;
  const float* gamma = nullptr;
  const float* beta = nullptr;  // or absent
};

// din (+)= the gradient through LayerNorm; dgamma and dbeta likewise, each with its own switch. in
// and din have the residual stream's type. If dgamma is absent, dbeta must be absent too.
struct LayerNormBackward {
  int64_t rows = 0;
  int64_t channels = 0;
  Buffer din;
  float* dgamma = nullptr;  // or absent
  float* dbeta = nullptr;   // or absent
  Buffer dout;
  Buffer in;
  const float* mean = nullptr;
  const float* rstd = nullptr;
  const float* gamma = nullptr;
  bool accumulate_input = false;
  bool accumulate_parameters = false;
};

// The gradient of a branch that was added to the residual stream after dropout: dbranch (rows,
// channels) in the compute type; with `dbias`, dbias (channels) (+)= its column sums as stored, the
// gradient of the bias of the layer that the branch ends with.
struct BranchGradient {
  Buffer dbranch;
  Dropout dropout;
  float* dbias = nullptr;  // or absent
};

// Causal self-attention on packed rows qkv (B*T, 3*C): q, k and v of head h start at h*D, C + h*D
// and 2*C + h*D.
struct AttentionShape {
  int64_t sequences = 0;  // B
  int64_t length = 0;     // T
  int64_t heads = 0;      // H
  int64_t head_size = 0;  // D

  int64_t channels() const { return heads * head_size; }
};

// Attention with stored probabilities: (B, H, T, T) in the compute type, before dropout. `scratch`
// has the same shape; it holds the probabilities after dropout, and in Backward the gradient of the
// scores.
struct StoredAttention {
  AttentionShape shape;
  Buffer qkv;
  Buffer probabilities;
  Buffer scratch;
  Dropout dropout;
};

// Positions in one group of cached keys.
inline constexpr int64_t kKeyBlock = 16;

// Keys and values of one layer for every slot; a slot holds one sequence. The backend chooses their
// memory layout; each has slots * heads * capacity * head_size elements.
struct KvCache {
  Buffer keys;
  Buffer values;
  int64_t capacity = 0;  // positions of a slot, a multiple of 4 * kKeyBlock
};

// Consecutive new tokens of the sequence in a slot: rows [row, row + count) of a ragged batch.
struct CacheRows {
  int64_t row = 0;
  int64_t count = 0;
  int64_t slot = 0;
  // Position of the first of these rows: the number of rows the slot already holds.
  int64_t position = 0;
};

// Causal attention of rows qkv (rows, 3*C) of several sequences, each against its own slot. First
// stores their keys and values in the cache. A row's result depends only on its sequence.
struct CachedAttention {
  int64_t heads = 0;
  int64_t head_size = 0;
  Buffer out;  // (rows, C)
  Buffer qkv;
  KvCache cache;
  std::span<const CacheRows> sequences;  // in host memory; each in a different slot
  float* scratch = nullptr;              // (threads, ScratchFloats)

  static int64_t ScratchFloats(int64_t capacity, int64_t head_size) {
    return capacity + (head_size + 15) / 16 * 16;
  }
};

// Rows that continue a sequence each by one token, in backend memory, so that a recorded step of a
// decoder can be replayed with other values. A row with slot -1 is padding: it changes no cache,
// and its results are not defined.
struct DecodeRows {
  int64_t rows = 0;
  const int32_t* tokens = nullptr;
  const int32_t* slots = nullptr;      // each slot at most once
  const int32_t* positions = nullptr;  // the number of rows that the slot already holds
};

// Most tokens that LikeliestTokens can find.
inline constexpr int64_t kLikeliestMax = 64;

// For each row of logits (rows, columns), the `count` largest among the first `below`, descending;
// of equal ones the lower id comes first. A NaN counts as -infinity. ids and values are (rows,
// count). REQUIRES: 1 <= count <= min(below, kLikeliestMax).
struct LikeliestTokens {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t below = 0;
  int64_t count = 0;
  const float* logits = nullptr;
  int32_t* ids = nullptr;
  float* values = nullptr;
};

// logits (rows, columns), of which the first `classes` columns are valid; targets in [0, classes),
// or -1 for a row to ignore.
struct CrossEntropyShape {
  int64_t rows = 0;
  int64_t classes = 0;  // V
  int64_t columns = 0;  // Vp
};

// loss += the sum of the losses of the rows; lse (rows) = the log of each softmax denominator.
// Probabilities are not stored.
struct CrossEntropyLoss {
  CrossEntropyShape shape;
  double* loss = nullptr;
  float* lse = nullptr;
  Buffer logits;
  const int32_t* targets = nullptr;
};

// logits := scale * *loss_scale * (softmax - onehot); 0 in padding columns and ignored rows.
struct CrossEntropyGradient {
  CrossEntropyShape shape;
  Buffer logits;
  const float* lse = nullptr;
  const int32_t* targets = nullptr;
  float scale = 1;
  const float* loss_scale = nullptr;  // absent: 1
};

// Stochastic rounding to bf16 or fp16. The probability of rounding away from zero is the fraction
// of the last place that is cut off. The random bits of element i are a hash of (key, first + i).
// If off, values are rounded to nearest even.
struct StochasticRounding {
  bool on = false;
  uint64_t key = 0;
  int64_t first = 0;
};

// The factor that multiplies the gradient of a step before the update (gradient_factor.h): 1 / loss
// scale, and smaller when the norm is above norm_max. NaN when the norm or a loss is not finite, or
// the sum of the losses in their order is above loss_sum_max; then the step must not change
// anything.
struct GradientFactor {
  float* factor = nullptr;                 // the result; in backend memory, like the inputs
  const double* sum_of_squares = nullptr;  // of the gradient, before dividing by the loss scale
  const double* losses = nullptr;          // (loss_count)
  int64_t loss_count = 0;
  double norm_max = 0;  // 0: no limit
  float loss_scale = 1;
  double loss_sum_max = std::numeric_limits<double>::infinity();
};

// One AdamW update of `count` values (PyTorch's formula: decoupled decay first, bias corrections
// for update `step` >= 1). Gradients are multiplied by *factor when they are read; when *factor is
// NaN, nothing changes. `working_copy`, if present, receives the new values rounded to
// working_type.
struct AdamWUpdate {
  int64_t count = 0;
  float* parameters = nullptr;
  float* first_moment = nullptr;
  float* second_moment = nullptr;
  const float* gradients = nullptr;
  uint16_t* working_copy = nullptr;
  DataType working_type = DataType::kBfloat16;
  StochasticRounding rounding;  // for the working copy
  double lr = 0;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0;
  int64_t step = 1;
  const float* factor = nullptr;  // backend memory; absent: 1
};

// Identifies a recorded piece of work: equal keys mean the same operations on the same memory.
using ReplayKey = std::array<uint64_t, 8>;

class Backend {
 public:
  virtual ~Backend() = default;

  // The kernels in use: "avx512_bf16", "cuda sm_90", "amx_twin" (level `amx` without tiles).
  virtual const char* name() const = 0;
  virtual int threads() const = 0;

  // Zeroed memory, aligned to 64 bytes, that lives as long as the backend. Must not be called
  // inside a step.
  virtual void* Allocate(int64_t bytes) = 0;
  // Bytes that Allocate returned, and the backend's own workspace.
  virtual int64_t allocated_bytes() const = 0;
  // Whether the host may read and write memory from Allocate (after Synchronize).
  virtual bool host_reachable() const = 0;
  // Zeroed host memory, aligned to 64 bytes, that lives as long as the backend. Upload and Download
  // are fastest with it (for a device it is page-locked). It is not backend memory, so no other
  // operation takes it. allocated_bytes counts it when the backend's memory is host memory too.
  // Must not be called inside a step.
  virtual void* AllocateHost(int64_t bytes) = 0;

  // Backend memory := host memory, in the order of the queue; the caller may change `from` on
  // return. Waits for the device only when the copy is larger than the staging memory (1 MiB at
  // least).
  virtual void Upload(void* to, const void* from, int64_t bytes) = 0;
  // Host memory := backend memory. Waits for the copy and for everything that was queued before it.
  virtual void Download(void* to, const void* from, int64_t bytes) = 0;
  // The same without the wait: `to`, from AllocateHost, holds the bytes when AwaitDownload returns.
  // AwaitDownload waits for the work queued before BeginDownload, not for later work. One download
  // at a time.
  virtual void BeginDownload(void* to, const void* from, int64_t bytes) = 0;
  virtual void AwaitDownload() = 0;
  // Host memory := backend memory, outside the queue. No work that is queued now or during the call
  // may write to `from`. Returns when the bytes have arrived. Any thread may call, also while
  // another thread uses the backend.
  virtual void Fetch(void* to, const void* from, int64_t bytes) = 0;
  // Backend memory := backend memory; the ranges do not overlap.
  virtual void Copy(void* to, const void* from, int64_t bytes) = 0;
  // The device's handle of the queue, a cudaStream_t, for communicators that use it. Null on a CPU.
  virtual void* queue() { return nullptr; }
  // Returns when all queued work is done. May throw errors of earlier operations.
  virtual void Synchronize() = 0;

  // Runs `work`: a sequence of operations on fixed memory with fixed arguments, without Allocate,
  // Upload, downloads, Synchronize, Mark or a form that returns a value. A backend with graphs may
  // record it. When the key comes again, it replays the record and does not call `work`, so `work`
  // must have no other effect. Other backends call `work`. The number of records is limited.
  virtual void Replay(const ReplayKey& key, const std::function<void()>& work) = 0;

  // Time mark `slot` := the time when all work queued so far is done. Slots are numbered from 0
  // without gaps; a backend keeps as many as were used.
  virtual void Mark(int slot) = 0;
  // Time from one mark to another. Both must have been reached (after Download or Synchronize).
  virtual double MillisecondsBetween(int first, int second) = 0;

  virtual void Forward(const LinearForward& args) = 0;
  // Whether Forward takes LinearForward::added, and the backend wants to be given it.
  virtual bool adds_in_products() const { return false; }
  // Copies rows into a packed weight, for products that set w_packed. The results have the same
  // bits. With few rows, when reading the weight from memory is the whole cost, packed products are
  // faster. Useful for weights that never change. A backend without an order of its own keeps w's
  // order.
  virtual void Pack(const WeightRows& args);
  virtual void BackwardInput(const LinearBackwardInput& args) = 0;
  virtual void BackwardWeight(const LinearBackwardWeight& args) = 0;
  virtual void Multiply(const SymmetricProduct& args);

  // Calls work(lane, number, index) for every index in [0, count). A CPU has a lane for each of its
  // threads: a backend of one thread whose operations take this backend's memory and give the same
  // bits. Its calls run side by side and take indices in ascending order, so `work` must not throw,
  // and two calls may share memory only if `number`, in [0, lanes()), is equal. Elsewhere the calls
  // run one after another, with this backend as the only lane.
  using LaneWork = std::function<void(Backend& lane, int number, int64_t index)>;
  virtual void ForEach(int64_t count, const LaneWork& work);
  virtual int lanes() const { return 1; }

  // out (B*T, C) and lse (B, H, T), the log of each softmax denominator. Dropout acts on the
  // probabilities.
  virtual void AttentionForward(const AttentionShape& shape, Buffer out, float* lse, Buffer qkv,
                                const Dropout& dropout) = 0;
  virtual void AttentionForward(const CachedAttention& args) = 0;
  // The same for rows in backend memory; args.sequences is not used. The bits are those of the form
  // above. These forms for decoding serve devices; those of this class read backend memory on the
  // host.
  virtual void AttendRows(const CachedAttention& args, const DecodeRows& rows);
  // dqkv = the gradient; `dout` and `out` are (B*T, C).
  virtual void AttentionBackward(const AttentionShape& shape, Buffer dqkv, Buffer dout, Buffer out,
                                 const float* lse, Buffer qkv, const Dropout& dropout) = 0;
  // The same values with stored probabilities: Forward writes these and `out`; Backward reads them
  // and writes `dqkv`.
  virtual void Forward(const StoredAttention& args, Buffer out) = 0;
  virtual void Backward(const StoredAttention& args, Buffer dqkv, Buffer dout) = 0;

  virtual void Forward(const LayerNorm& args) = 0;
  virtual void Backward(const LayerNormBackward& args) = 0;
  // residual = in + dropout(branch), then LayerNorm of it as stored (args.in is ignored); one pass.
  // residual and in have the same type; they may be the same buffer.
  virtual void ResidualLayerNorm(Buffer residual, Buffer in, Buffer branch, const Dropout& dropout,
                                 const LayerNorm& args) = 0;
  // The gradient of ResidualLayerNorm. The gradient through the norm goes to args.din; the gradient
  // of the branch is computed from the new din, as in ResidualBackward. dbias is accumulated when
  // the gradients of the norm's parameters are.
  virtual void ResidualLayerNormBackward(const LayerNormBackward& args,
                                         const BranchGradient& branch) = 0;
  // out = in + dropout(branch). out and in have the same type; they may be the same buffer.
  virtual void Residual(int64_t rows, int64_t channels, Buffer out, Buffer in, Buffer branch,
                        const Dropout& dropout) = 0;
  // dbranch = the gradient of `branch` in Residual, given dout.
  virtual void ResidualBackward(int64_t rows, int64_t channels, Buffer dbranch, Buffer dout,
                                const Dropout& dropout) = 0;

  virtual void GeluForward(int64_t count, runspec::Gelu kind, Buffer out, Buffer in) = 0;
  // dy *= Gelu'(in), in place.
  virtual void GeluBackward(int64_t count, runspec::Gelu kind, Buffer dy, Buffer in) = 0;

  // out (B*T, C) = dropout(wte[token] + wpe[position]).
  virtual void EmbeddingForward(int64_t sequences, int64_t length, int64_t channels, Buffer out,
                                const int32_t* tokens, const float* wte, const float* wpe,
                                const Dropout& dropout) = 0;
  // out (rows, C) = wte[token] + wpe[position].
  virtual void EmbedRows(const DecodeRows& rows, int64_t channels, Buffer out, const float* wte,
                         const float* wpe);
  // dwte += and dwpe += from dout; either may be absent.
  virtual void EmbeddingBackward(int64_t sequences, int64_t length, int64_t channels, float* dwte,
                                 float* dwpe, Buffer dout, const int32_t* tokens,
                                 const Dropout& dropout) = 0;

  virtual void FindLikeliest(const LikeliestTokens& args);

  virtual void Forward(const CrossEntropyLoss& args) = 0;
  virtual void Backward(const CrossEntropyGradient& args) = 0;
  // Does both for the same rows; a backend may need only one pass over the logits.
  virtual void ForwardAndBackward(const CrossEntropyLoss& forward,
                                  const CrossEntropyGradient& backward) {
    Forward(forward);
    Backward(backward);
  }
  // Returns the sum of the losses; waits for the queue.
  double CrossEntropyForward(const CrossEntropyShape& shape, float* lse, Buffer logits,
                             const int32_t* targets);
  void CrossEntropyBackward(const CrossEntropyShape& shape, Buffer logits, const float* lse,
                            const int32_t* targets, float scale);

  virtual void ComputeGradientFactor(const GradientFactor& args) = 0;
  virtual void Update(const AdamWUpdate& args) = 0;
  // *sum = the sum of squares, exact to double rounding, in an order that depends on `count` alone.
  virtual void SumOfSquares(double* sum, const float* values, int64_t count) = 0;
  double SumOfSquares(const float* values, int64_t count);  // waits for the queue

  virtual void Zero(void* data, int64_t bytes) = 0;
  // out := in rounded to out.type, which is bf16 or, on a device, fp16.
  virtual void Round(int64_t count, Buffer out, const float* in,
                     const StochasticRounding& rounding) = 0;
  void Round(int64_t count, uint16_t* out, const float* in, const StochasticRounding& rounding) {
    Round(count, Buffer{out, DataType::kBfloat16}, in, rounding);
  }
  // out = a * x + b * y, or a * x without y; out may be x or y.
  virtual void Axpby(int64_t count, float* out, float a, const float* x, float b,
                     const float* y) = 0;

 protected:
  // One double of backend memory for the forms that return a value; part of the workspace.
  virtual double* scalar() = 0;
};

}  // namespace gp::engine
