// The table of one level; included last by kernels_<level>.cc.
#pragma once

#include "worker/engine/backend/cpu/kernels/attention.h"
#include "worker/engine/backend/cpu/kernels/attention_backward.h"
#include "worker/engine/backend/cpu/kernels/attention_decode.h"
#include "worker/engine/backend/cpu/kernels/causal_softmax.h"
#include "worker/engine/backend/cpu/kernels/cross_entropy.h"
#include "worker/engine/backend/cpu/kernels/embedding.h"
#include "worker/engine/backend/cpu/kernels/flat.h"
#include "worker/engine/backend/cpu/kernels/gelu.h"
#include "worker/engine/backend/cpu/kernels/gemm_pack.h"
#include "worker/engine/backend/cpu/kernels/gemm_panel.h"
#include "worker/engine/backend/cpu/kernels/gemm_skinny.h"
#include "worker/engine/backend/cpu/kernels/gemm_tile.h"
#include "worker/engine/backend/cpu/kernels/layer_norm.h"

namespace gp::engine::GP_ISA_NAMESPACE {

inline constexpr KernelSet kKernels = {
    .width = kWidth,
    .bf16_tiles = kBf16Tiles,
    .tile_rows = kTileRows,
    .tile_vectors = kTileVectors,
    .tile_f32 = MakeTileKernels<Fp32Product, false>(),
    .tile_f32_transposed = MakeTileKernels<Fp32Product, true>(),
#if defined(GP_ISA_BF16)
    .tile_bf16 = MakeTileKernels<Bf16Product, false>(),
    .tile_bf16_transposed = MakeTileKernels<Bf16Product, true>(),
#endif
    .pack = &Pack,
    .skinny = &Skinny,
    .panel = &Panel,
    .widen_panel = &WidenPanel,
    .pair_rows = &PairRows,
    .store_tile = &StoreTile,
    .store_tile_flipped = &StoreTileFlipped,
    .column_sums = &ColumnSums,
    .attention_forward = &AttentionForwardHead,
    .attention_backward = &AttentionBackwardHead,
    .causal_softmax = &CausalSoftmaxRows,
    .causal_softmax_backward = &CausalSoftmaxBackwardRows,
    .drop_probabilities = &DropProbabilityRows,
    .cached_attention = &CachedAttentionHead,
    .layer_norm = &LayerNormRows,
    .layer_norm_backward_input = &LayerNormBackwardRows,
    .layer_norm_backward_parameters = &LayerNormBackwardColumns,
    .residual = &ResidualRows,
    .residual_layer_norm = &ResidualLayerNormRows,
    .residual_backward = &ResidualBackwardRows,
    .embedding = &EmbeddingRows,
    .embedding_backward = &EmbeddingBackwardColumns,
    .cross_entropy = &CrossEntropyRows,
    .cross_entropy_backward = &CrossEntropyBackwardRows,
    .gelu = &GeluRange,
    .gelu_backward = &GeluBackwardRange,
    .adamw = &AdamWRange,
    .sum_of_squares = &SumOfSquaresOf,
    .round = &RoundRange,
    .axpby = &AxpbyRange,
};

}  // namespace gp::engine::GP_ISA_NAMESPACE
