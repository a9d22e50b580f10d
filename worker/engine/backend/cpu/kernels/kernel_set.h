// KernelSet: the inner loops of the CPU backend at one instruction-set level. Each works on a range
// of rows, columns or elements, so that the caller can give every thread its own. Tables are
// constants; the kernels are thread-safe on disjoint ranges. Each operation is specified at the
// Backend method of the same name.
#pragma once

#include <cstdint>

#include "worker/engine/backend/backend.h"
#include "worker/engine/backend/cpu/kernels/isa.h"

namespace gp::engine {

// A tile of C (rows, vectors * width) fp32 (+)= A (rows, k) B (k, vectors * width). B and C have
// row strides ldb and ldc. A's element (r, i) is a[r * a_stride + i], or a[i * a_stride + r] for
// the transposed kind. The bf16 kinds count k in pairs: one 32-bit unit of A and of B holds
// elements 2i and 2i + 1. Strides are in units.
using TileKernel = void (*)(int64_t k, const void* a, int64_t a_stride, const void* b, int64_t ldb,
                            float* c, int64_t ldc, bool accumulate);

inline constexpr int kTileRowsMax = 8;
inline constexpr int kTileVectorsMax = 3;

struct TileKernels {
  TileKernel rows[kTileRowsMax][kTileVectorsMax];  // [rows - 1][vectors - 1]
};

// One operand of a product, seen as a matrix (i, k): element (i, k) is data[i * ld + k] when
// `k_contiguous`, otherwise data[k * ld + i].
struct GemmOperand {
  Buffer data;
  int64_t ld = 0;
  bool k_contiguous = true;
};

// A block of an operand to be packed into panels of `panel` indices i each. A panel is stored
// k-major: to[(panel number * units + unit) * panel + i - first of the panel], zero beyond i_count.
// There are k_count units of fp32, or ceil(k_count / 2) pairs of bf16 (an odd last element is
// paired with 0), or twice as many fp32 units, odd elements before even ones, when pairs are
// widened. Up to one vector after the last panel may be written.
struct PackBlock {
  GemmOperand from;
  int64_t i_first = 0;
  int64_t i_count = 0;
  int64_t k_first = 0;
  int64_t k_count = 0;
  int64_t panel = 0;
  void* to = nullptr;
  bool keep_pairs = false;  // keep pairs even if the tile kernels take widened values
};

// What happens to a finished tile before it is stored: y = tile + bias, gelu = Gelu(y), or y = tile
// * Gelu'(pre_gelu).
struct TileOutput {
  Buffer y;
  int64_t ldy = 0;
  Buffer bias;
  Buffer gelu;      // same stride as y
  Buffer pre_gelu;  // same stride as y
  runspec::Gelu kind = runspec::Gelu::kTanh;

  bool plain() const {
    return y.type == DataType::kFloat32 && bias.data == nullptr && gelu.data == nullptr &&
           pre_gelu.data == nullptr;
  }
};

// Products of a few rows of A, packed whole in panels of tile_rows, with `count` <= width rows of B
// that lie in place, k contiguous: sums (rows, width).
struct SkinnyBlock {
  int64_t rows = 0;         // rows of A, at most tile_rows
  const void* a = nullptr;  // the panel of these rows
  GemmOperand b;
  int64_t first = 0;  // the first row of B
  int64_t count = 0;
  int64_t k = 0;
  float* sums = nullptr;
};

// A product of a few rows of A with a block of one packed panel of B, of width * tile_vectors
// columns: sums (rows, panel) (+)= A B over `units` units of k. A's rows are fp32, or what
// pair_rows makes of bf16.
struct PanelBlock {
  int64_t rows = 0;  // at most tile_rows
  const void* a = nullptr;
  int64_t a_stride = 0;  // from one row of A to the next, in 32-bit units
  const void* b = nullptr;
  int64_t units = 0;   // 32-bit units of B, in k
  bool pairs = false;  // B holds pairs of bf16
  float* sums = nullptr;
  bool accumulate = false;
  // Memory to prefetch during the product; the address moves by ahead_step bytes for each unit of
  // A.
  const void* ahead = nullptr;
  int64_t ahead_step = 0;
};

struct ResidualAddition {
  int64_t channels = 0;
  Buffer out;
  Buffer in;
  Buffer branch;
  Dropout dropout;
};

struct EmbeddingArgs {
  int64_t rows = 0;
  int64_t length = 0;
  int64_t channels = 0;
  const int32_t* tokens = nullptr;
  Dropout dropout;
};

struct Tiles;  // tiles.h

struct KernelSet {
  int width;         // floats in a vector
  bool bf16_tiles;   // bf16 is multiplied in pairs; otherwise pack widens it to fp32
  int tile_rows;     // rows of the largest tile
  int tile_vectors;  // vectors of the largest tile

  TileKernels tile_f32;
  TileKernels tile_f32_transposed;
  TileKernels tile_bf16;
  TileKernels tile_bf16_transposed;
  void (*pack)(const PackBlock& block);
  void (*skinny)(const SkinnyBlock& block);
  void (*panel)(const PanelBlock& block);
  // Widens `units` units of a packed panel of bf16 pairs to fp32 for `panel`: each unit becomes
  // two, its odd elements before its even ones. Meanwhile prefetches as many bytes at `ahead`.
  void (*widen_panel)(const uint32_t* from, int64_t units, const void* ahead, float* to);
  // Writes bf16 rows of k elements in the form that `panel` reads as A: ceil(k / 2) pairs a row, or
  // twice as many fp32 units, odd elements before even ones; an odd last element is paired with 0.
  void (*pair_rows)(const uint16_t* from, int64_t ld, int64_t rows, int64_t k, uint32_t* to);
  // Stores tile (rows, columns), row stride `ld`, at (row, column) of the output.
  void (*store_tile)(const TileOutput& output, const float* tile, int64_t ld, int64_t row,
                     int64_t column, int64_t rows, int64_t columns);
  // The same for the transpose of a tile: its element (r, c) belongs at (row + c, column + r).
  void (*store_tile_flipped)(const TileOutput& output, const float* tile, int64_t ld, int64_t row,
                             int64_t column, int64_t rows, int64_t columns);
  // sums[j] (+)= column sums of dy (rows, columns) for j in [first, last).
  void (*column_sums)(Buffer dy, int64_t rows, int64_t columns, float* sums, bool accumulate,
                      int64_t first, int64_t last);

  // One head: index = sequence * heads + head. `scratch` has AttentionThreadWorkspaceBytes.
  void (*attention_forward)(const AttentionShape& shape, Buffer out, float* lse, Buffer qkv,
                            const Dropout& dropout, int64_t index, float* scratch);
  void (*attention_backward)(const AttentionShape& shape, Buffer dqkv, Buffer dout, Buffer out,
                             const float* lse, Buffer qkv, const Dropout& dropout, int64_t index,
                             float* scratch);

  // Rows [first, last) of (B*H*T, T).
  void (*causal_softmax)(Buffer scores, int64_t length, float scale, int64_t first, int64_t last);
  void (*causal_softmax_backward)(Buffer d, Buffer probabilities, int64_t length, float scale,
                                  const Dropout& dropout, int64_t first, int64_t last);
  void (*drop_probabilities)(Buffer out, Buffer in, int64_t length, const Dropout& dropout,
                             int64_t first, int64_t last);

  // One head of one sequence; `scratch` is one thread's.
  void (*cached_attention)(const CachedAttention& args, const CacheRows& rows, int64_t head,
                           float* scratch);

  // Rows [first, last).
  void (*layer_norm)(const LayerNorm& args, int64_t first, int64_t last);
  void (*layer_norm_backward_input)(const LayerNormBackward& args, int64_t first, int64_t last);
  // Columns [first, last).
  void (*layer_norm_backward_parameters)(const LayerNormBackward& args, int64_t first,
                                         int64_t last);
  void (*residual)(const ResidualAddition& args, int64_t first, int64_t last);
  // Residual and LayerNorm of its result, row by row.
  void (*residual_layer_norm)(const ResidualAddition& residual, const LayerNorm& norm,
                              int64_t first, int64_t last);
  void (*residual_backward)(Buffer dbranch, Buffer dout, int64_t channels, const Dropout& dropout,
                            int64_t first, int64_t last);
  void (*embedding)(const EmbeddingArgs& args, Buffer out, const float* wte, const float* wpe,
                    int64_t first, int64_t last);
  // Columns [first, last).
  void (*embedding_backward)(const EmbeddingArgs& args, float* dwte, float* dwpe, Buffer dout,
                             int64_t first, int64_t last);
  void (*cross_entropy)(const CrossEntropyShape& shape, float* lse, Buffer logits, int64_t first,
                        int64_t last);
  void (*cross_entropy_backward)(const CrossEntropyShape& shape, Buffer logits, const float* lse,
                                 const int32_t* targets, float scale, int64_t first, int64_t last);

  // Elements [first, last).
  void (*gelu)(runspec::Gelu kind, Buffer out, Buffer in, int64_t first, int64_t last);
  void (*gelu_backward)(runspec::Gelu kind, Buffer dy, Buffer in, int64_t first, int64_t last);
  void (*adamw)(const AdamWUpdate& args, int64_t first, int64_t last);
  double (*sum_of_squares)(const float* values, int64_t count);
  void (*round)(uint16_t* out, const float* in, const StochasticRounding& rounding, int64_t first,
                int64_t last);
  void (*axpby)(float* out, float a, const float* x, float b, const float* y, int64_t first,
                int64_t last);

  const Tiles* tiles = nullptr;  // how level `amx` multiplies bf16; null at other levels
};

// Whether level `amx` may use the processor's tile registers. Without them it computes the same
// bits with AVX-512.
enum class TileUse { kIfUsable, kNever };

// The table for `isa`; kAuto: BestIsa's.
const KernelSet& KernelsOf(Isa isa, TileUse use = TileUse::kIfUsable);

const KernelSet& GenericKernels();
const KernelSet& Avx2Kernels();
const KernelSet& Avx512Kernels();
const KernelSet& Avx512Bf16Kernels();

}  // namespace gp::engine
