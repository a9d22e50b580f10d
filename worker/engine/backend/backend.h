// Backend: the operations a GPT-2 training step is written in, on raw pointers, sizes and one queue of work. The model
// (model/gpt2.h) is written once over it; backend/cpu and backend/cuda implement it. Standard library only.
//
// Notation: B sequences of T tokens, N = B*T rows, C channels, H heads, D = C/H, V vocabulary of which Vp rows are stored.
// Matrices are row-major. "=" overwrites, "+=" accumulates. Sums run in an order that depends on the sizes of the summed
// axis alone, never on the number of threads or rows, so equal inputs give equal bits on every rank and in every batch.
// Activations are `Element`: fp32, or bf16 where the method's comment says "compute type". One thread calls.
#pragma once

#include <cstdint>

namespace gp::engine {

enum class DataType { kFloat32, kBfloat16 };

// A typed pointer into the arena.
struct Buffer {
  void* data = nullptr;
  DataType type = DataType::kFloat32;

  float* f32() const { return static_cast<float*>(data); }
  uint16_t* bf16() const { return static_cast<uint16_t*>(data); }
};

// Keyed dropout: element i of site s in step t of shard v is kept iff hash(seed, t, v, micro_batch, s, i) says so, whatever
// the world size. probability = 0 turns it off.
struct Dropout {
  double probability = 0;
  uint64_t seed = 0;
  uint64_t step = 0;
  uint32_t shard = 0;
  uint32_t micro_batch = 0;
  uint32_t site = 0;
};

}  // namespace gp::engine
