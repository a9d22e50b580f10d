// Tiles: the bf16 products of level `amx`, in blocks of 32 in k. One arithmetic with two
// implementations that give the same bits: AmxTiles uses the processor's tile registers, TwinTiles
// AVX-512.
//
// The arithmetic is that of TDPBF16PS (Intel SDM vol. 2, "TDPBF16PS", Operation). For each element
// of C and each block of 32 in k, two chains of fp32 FMAs begin at +0, one over even k and one over
// odd k, both ascending; then C = C + (even + odd). All of it rounds to nearest even, reads
// denormals as 0 and flushes denormal results to 0 (DAZ and FTZ, whatever MXCSR says). A shorter
// last block is filled up with zeros. The manual leaves the payload of a NaN open, so a NaN result
// is stored as 0x7fc00000.
//
// Tables are constants. `multiply` and `pack_rows` are thread-safe on different output.
#pragma once

#include <cstdint>

#include "worker/engine/backend/cpu/kernels/kernel_set.h"

namespace gp::engine {

inline constexpr int64_t kTileSide = 16;    // rows and columns of C in a tile
inline constexpr int64_t kTileDepth = 32;   // elements of k in a tile
inline constexpr int64_t kTileUnits = 16;   // 32-bit units of k in a tile
inline constexpr int64_t kTilesAcross = 2;  // tiles along each side of the largest block
inline constexpr int64_t kBlockSide = kTilesAcross * kTileSide;

// C (row_tiles * 16, column_tiles * 16) fp32 (+)= A B over `blocks` blocks of k.
struct TileBlock {
  int64_t row_tiles = 1;  // at most kTilesAcross, as column_tiles
  int64_t column_tiles = 1;
  int64_t blocks = 0;
  const uint16_t* a = nullptr;  // element (row, k) is a[row * a_stride + k]
  int64_t a_stride = 0;
  const uint32_t* b = nullptr;  // elements 2u and 2u + 1 of a column: b[u * b_stride + column]
  int64_t b_stride = 0;
  float* c = nullptr;
  int64_t ldc = 0;
  bool accumulate = false;
  bool last = false;  // nothing is added to C afterwards: NaN is made canonical
};

// Rows of an operand as `multiply` reads A: row i_first + r at to + r * stride, zero beyond i_count
// up to whole tiles and beyond k_count up to whole blocks.
struct TileRows {
  GemmOperand from;
  int64_t i_first = 0;
  int64_t i_count = 0;
  int64_t k_first = 0;
  int64_t k_count = 0;
  uint16_t* to = nullptr;
  int64_t stride = 0;
};

struct Tiles {
  // A thread calls `multiply` between `begin` and `end`. `begin` configures its tile registers;
  // `end` gives them back, so that the system need not save them at each switch of threads.
  void (*begin)();
  void (*multiply)(const TileBlock& block);
  void (*end)();
  void (*pack_rows)(const TileRows& rows);
};

const Tiles& AmxTiles();   // REQUIRES: Amx().usable (amx_support.h)
const Tiles& TwinTiles();  // REQUIRES: IsaSupported(Isa::kAvx512)

// Attention of one head of bf16, as KernelSet's, with its products by `tiles`.
void AttentionForwardByTiles(const Tiles& tiles, const AttentionShape& shape, Buffer out,
                             float* lse, Buffer qkv, const Dropout& dropout, int64_t index,
                             float* scratch);
void AttentionBackwardByTiles(const Tiles& tiles, const AttentionShape& shape, Buffer dqkv,
                              Buffer dout, Buffer out, const float* lse, Buffer qkv,
                              const Dropout& dropout, int64_t index, float* scratch);

// The products of few rows and of packed weights, in the same arithmetic, with AVX-512.
void TwinSkinny(const SkinnyBlock& block);  // bf16 only
void TwinPanel(const PanelBlock& block);    // pairs only; REQUIRES: earlier blocks of k were whole

}  // namespace gp::engine
