// The place of each tensor of Gpt2: slots in the flat parameter layout, and activations in the
// arena laid out by runspec::MakeArenaPlan. Plain values, made once; the arena must outlive them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/arena_plan.h"
#include "plan/model_shape.h"
#include "worker/engine/backend/backend.h"

namespace gp::engine {

// The type of the tensor's elements; kFloat32 for a tensor of "int32" or "bytes".
DataType DataTypeOf(const runspec::ArenaTensor& tensor);

// Offsets of a module's weight and bias in the flat parameters. Both are trained, or neither is.
struct ParameterSlot {
  int64_t weight = 0;
  int64_t bias = -1;  // -1: the model has none
  bool trained = true;
};

struct BlockSlots {
  ParameterSlot ln_1;
  ParameterSlot c_attn;
  ParameterSlot attn_c_proj;
  ParameterSlot ln_2;
  ParameterSlot c_fc;
  ParameterSlot mlp_c_proj;
};

struct Gpt2Slots {
  explicit Gpt2Slots(const runspec::ModelShape& shape, const runspec::ParameterLayout& layout);

  ParameterSlot wte;
  ParameterSlot wpe;
  std::vector<BlockSlots> blocks;
  ParameterSlot ln_f;
  ParameterSlot lm_head;  // wte's when tied
};

struct NormBuffers {
  Buffer out;             // (N, C)
  float* mean = nullptr;  // (N)
  float* rstd = nullptr;  // (N)
};

// Under recompute: gelu or block the blocks share buffers, each of which then holds the values of
// the last block that wrote it.
struct BlockBuffers {
  Buffer residual;  // (N, C) the block's input
  NormBuffers ln_1;
  Buffer qkv;            // (N, 3C)
  Buffer attention;      // (N, C)
  float* lse = nullptr;  // (B, H, T); of flash attention
  Buffer probabilities;  // (B, H, T, T); of math attention
  Buffer residual_mid;   // (N, C) after attention
  NormBuffers ln_2;
  Buffer fc;    // (N, 4C) before GELU
  Buffer gelu;  // (N, 4C)
};

struct Gpt2Buffers {
  Gpt2Buffers(const runspec::ModelShape& shape, const runspec::ArenaPlan& plan, std::byte* arena);

  float* parameters = nullptr;
  Buffer working_copy;  // in the compute type; absent in fp32
  double* loss = nullptr;
  double* discarded_loss = nullptr;
  uint64_t* dropout_key = nullptr;
  int32_t* tokens = nullptr;
  int32_t* targets = nullptr;
  std::vector<BlockBuffers> blocks;
  Buffer residual;  // (N, C) the last block's output
  NormBuffers ln_f;
  Buffer logits;                 // (rows of the head at a time, Vp), or their gradient
  float* lse = nullptr;          // (N)
  Buffer last_rows;              // (B, C)
  float* next_logits = nullptr;  // (B, Vp)
  // Transients of one layer.
  Buffer branch;      // (N, C)
  Buffer d_residual;  // (N, C)
  Buffer d_branch;    // (N, C)
  Buffer d_channels;  // (N, C)
  Buffer d_qkv;       // (N, 3C)
  Buffer d_fc;        // (N, 4C)
  Buffer d_scores;    // (B, H, T, T); of math attention
};

}  // namespace gp::engine
