// The tile registers of AMX. CMakeLists.txt gives this file its instruction-set flags.
#define GP_ISA_NAMESPACE amx_kernels
#define GP_ISA_WIDTH 16
#include <immintrin.h>

#include "worker/engine/backend/cpu/kernels/tiles.h"
#include "worker/engine/backend/cpu/kernels/vector.h"

namespace gp::engine {
namespace amx_kernels {

// The operand of LDTILECFG (Intel SDM vol. 1, 18.3): palette 1, eight tiles of 16 rows of 64 bytes.
struct TileConfiguration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64);
alignas(64) constexpr TileConfiguration kConfiguration;

// The intrinsics do not say what memory they read, so nothing may move across them.
inline void Barrier() { asm volatile("" ::: "memory"); }

void Begin() {
  Barrier();
  _tile_loadconfig(&kConfiguration);
}

void End() { _tile_release(); }

// Tiles 0 to 3 hold C, 4 and 5 rows of A, 6 and 7 columns of B.
template <int kRowTiles, int kColumnTiles>
[[gnu::noinline]] void MultiplyTiles(const TileBlock& t) {
  const int64_t ldc_bytes = t.ldc * 4;
  const int64_t a_bytes = t.a_stride * 2;
  const int64_t b_bytes = t.b_stride * 4;
  float* c_below = t.c + kTileSide * t.ldc;
  Barrier();
  if (t.accumulate) {
    _tile_loadd(0, t.c, ldc_bytes);
    if constexpr (kColumnTiles == 2) _tile_loadd(1, t.c + kTileSide, ldc_bytes);
    if constexpr (kRowTiles == 2) _tile_loadd(2, c_below, ldc_bytes);
    if constexpr (kRowTiles == 2 && kColumnTiles == 2) {
      _tile_loadd(3, c_below + kTileSide, ldc_bytes);
    }
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const uint16_t* a = t.a;
  const uint32_t* b = t.b;
  for (int64_t k = 0; k < t.blocks; ++k, a += kTileDepth, b += kTileUnits * t.b_stride) {
    _tile_loadd(4, a, a_bytes);
    _tile_loadd(6, b, b_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kColumnTiles == 2) {
      _tile_loadd(7, b + kTileSide, b_bytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kRowTiles == 2) {
      _tile_loadd(5, a + kTileSide * t.a_stride, a_bytes);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (kRowTiles == 2 && kColumnTiles == 2) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, t.c, ldc_bytes);
  if constexpr (kColumnTiles == 2) _tile_stored(1, t.c + kTileSide, ldc_bytes);
  if constexpr (kRowTiles == 2) _tile_stored(2, c_below, ldc_bytes);
  if constexpr (kRowTiles == 2 && kColumnTiles == 2) {
    _tile_stored(3, c_below + kTileSide, ldc_bytes);
  }
  Barrier();
}

void MakeNanCanonical(const TileBlock& t) {
  const Vec nan = reinterpret_cast<Vec>(VecU{} + 0x7fc00000u);
  for (int64_t r = 0; r < t.row_tiles * kTileSide; ++r) {
    for (int64_t v = 0; v < t.column_tiles; ++v) {
      float* c = t.c + r * t.ldc + v * kTileSide;
      const Vec value = Load(c);
      Store(c, value == value ? value : nan);
    }
  }
}

void Multiply(const TileBlock& t) {
  if (t.row_tiles == 2) {
    t.column_tiles == 2 ? MultiplyTiles<2, 2>(t) : MultiplyTiles<2, 1>(t);
  } else {
    t.column_tiles == 2 ? MultiplyTiles<1, 2>(t) : MultiplyTiles<1, 1>(t);
  }
  if (t.last) MakeNanCanonical(t);
}

}  // namespace amx_kernels

const Tiles& AmxTiles() {
  static const Tiles tiles = {.begin = &amx_kernels::Begin,
                              .multiply = &amx_kernels::Multiply,
                              .end = &amx_kernels::End,
                              .pack_rows = TwinTiles().pack_rows};
  return tiles;
}

}  // namespace gp::engine
