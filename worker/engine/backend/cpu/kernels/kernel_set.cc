#include "worker/engine/backend/cpu/kernels/kernel_set.h"

#include "worker/engine/backend/cpu/kernels/amx_support.h"
#include "worker/engine/backend/cpu/kernels/tiles.h"

namespace gp::engine {
namespace {

void SkinnyOfEither(const SkinnyBlock& block) {
  if (block.b.data.type == DataType::kBfloat16) return TwinSkinny(block);
  Avx512Kernels().skinny(block);
}

void PanelOfEither(const PanelBlock& block) {
  if (block.pairs) return TwinPanel(block);
  Avx512Kernels().panel(block);
}

// Shorter sequences gain too little from tiles.
bool AttendsByTiles(const AttentionShape& shape, Buffer qkv) {
  constexpr int64_t kLengthMin = 256;
  return qkv.type == DataType::kBfloat16 && shape.length >= kLengthMin;
}

// Level `amx`: the kernels of avx512 with other products of bf16.
template <const Tiles& (*kTiles)()>
KernelSet WithTiles() {
  KernelSet kernels = Avx512Kernels();
  kernels.tiles = &kTiles();
  kernels.skinny = &SkinnyOfEither;
  kernels.panel = &PanelOfEither;
  kernels.attention_forward = [](const AttentionShape& shape, Buffer out, float* lse, Buffer qkv,
                                 const Dropout& dropout, int64_t index, float* scratch) {
    if (AttendsByTiles(shape, qkv)) {
      return AttentionForwardByTiles(kTiles(), shape, out, lse, qkv, dropout, index, scratch);
    }
    Avx512Kernels().attention_forward(shape, out, lse, qkv, dropout, index, scratch);
  };
  kernels.attention_backward = [](const AttentionShape& shape, Buffer dqkv, Buffer dout, Buffer out,
                                  const float* lse, Buffer qkv, const Dropout& dropout,
                                  int64_t index, float* scratch) {
    if (AttendsByTiles(shape, qkv)) {
      return AttentionBackwardByTiles(kTiles(), shape, dqkv, dout, out, lse, qkv, dropout, index,
                                      scratch);
    }
    Avx512Kernels().attention_backward(shape, dqkv, dout, out, lse, qkv, dropout, index, scratch);
  };
  return kernels;
}

const KernelSet& AmxKernels(TileUse use) {
  static const KernelSet twin = WithTiles<&TwinTiles>();
  if (use == TileUse::kNever || !Amx().usable) return twin;
  static const KernelSet amx = WithTiles<&AmxTiles>();
  return amx;
}

}  // namespace

const KernelSet& KernelsOf(Isa isa, TileUse use) {
  switch (ResolveIsa(isa)) {
    case Isa::kAvx2:
      return Avx2Kernels();
    case Isa::kAvx512:
      return Avx512Kernels();
    case Isa::kAvx512Bf16:
      return Avx512Bf16Kernels();
    case Isa::kAmx:
      return AmxKernels(use);
    case Isa::kAuto:
    case Isa::kGeneric:
      break;
  }
  return GenericKernels();
}

}  // namespace gp::engine
