// The arithmetic of the tile registers with AVX-512 F, BW, DQ and VL. CMakeLists.txt gives this
// file its instruction-set flags.
#define GP_ISA_NAMESPACE twin_kernels
#define GP_ISA_WIDTH 16
#include "worker/engine/backend/cpu/kernels/attention_tiles.h"
#include "worker/engine/backend/cpu/kernels/twin.h"

namespace gp::engine {

const Tiles& TwinTiles() {
  static constexpr Tiles tiles = {.begin = [] {},
                                  .multiply = &twin_kernels::MultiplyBlock,
                                  .end = [] {},
                                  .pack_rows = &twin_kernels::PackTileRows};
  return tiles;
}

void AttentionForwardByTiles(const Tiles& tiles, const AttentionShape& shape, Buffer out,
                             float* lse, Buffer qkv, const Dropout& dropout, int64_t index,
                             float* scratch) {
  twin_kernels::TileAttentionForward(tiles, shape, qkv, dropout, index, scratch).Run(out, lse);
}

void AttentionBackwardByTiles(const Tiles& tiles, const AttentionShape& shape, Buffer dqkv,
                              Buffer dout, Buffer out, const float* lse, Buffer qkv,
                              const Dropout& dropout, int64_t index, float* scratch) {
  twin_kernels::TileAttentionBackward(tiles, shape, lse, qkv, dropout, index, scratch)
      .Run(dqkv, dout, out);
}

void TwinSkinny(const SkinnyBlock& block) {
  const twin_kernels::TileRounding rounding;
  twin_kernels::TwinSkinnyOf<>(block);
}

void TwinPanel(const PanelBlock& block) {
  const twin_kernels::TileRounding rounding;
  for (int64_t row = 0; row < block.rows; row += 4) {
    twin_kernels::TwinPanelOf<>(block, row, block.rows - row);
  }
}

}  // namespace gp::engine
