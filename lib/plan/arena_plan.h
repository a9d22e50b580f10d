// ArenaPlan: every buffer of one rank's model, before anything is allocated. `gp-bench plan` prints
// it, the engine allocates it, and the validator's memory forecast adds it up. Standard library
// only. Values and pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/model_shape.h"
#include "plan/run_spec.h"

namespace gp::runspec {

struct ArenaOptions {
  int64_t micro_batch = 8;  // B, sequences of one forward pass
  int64_t sequence = 128;   // T, tokens
  bool bf16 = false;        // compute type of activations and the working copy
  int threads = 1;          // threads of this rank's CPU backend
  Attention attention = Attention::kFlash;
  Recompute recompute = Recompute::kNone;
  int64_t chunked_head = 0;  // rows of logits that exist at a time; 0: all
  ResidualType residual = ResidualType::kFp32;
  bool fp16 = false;                // the compute type instead of bf16
  bool fp8 = false;                 // room for fp8 copies of operands
  int64_t forward_only_blocks = 0;  // the lowest blocks, whose backward pass never runs
  bool on_gpu = false;              // the workspace is the CUDA backend's
};

// Returns `options` with the compute type and the extra room that `precision` needs in the arena.
// REQUIRES: not kAuto.
ArenaOptions WithPrecision(Precision precision, ArenaOptions options);

// Rows of logits that the arena holds: at most all of them, and an even number unless it is all,
// because bf16 products take rows of a weight gradient in pairs.
int64_t HeadRows(const ArenaOptions& options);

// Size of the tensor "scalars": the loss of a pass, an unused loss, and the dropout key of the
// pass.
inline constexpr int64_t kArenaScalarBytes = 64;

// One buffer. Offsets are multiples of 64 bytes.
struct ArenaTensor {
  std::string name;  // "h.0.qkv"
  std::string type;  // "fp32" | "bf16" | "fp16" | "int32" | "bytes"
  std::vector<int64_t> shape;
  int64_t offset_bytes = 0;
  int64_t size_bytes = 0;
};

struct ArenaPlan {
  std::vector<ArenaTensor> tensors;
  int64_t total_bytes = 0;

  // Throws std::out_of_range for an unknown name.
  const ArenaTensor& at(const std::string& name) const;
  bool has(const std::string& name) const;
  // Adds a tensor after the others, at a multiple of 64 bytes.
  void Append(const std::string& name, const std::string& type, std::vector<int64_t> shape);
};

// Parameters, their working copy in the compute type, saved and transient activations, scalars, and
// the backend's workspace.
ArenaPlan MakeArenaPlan(const ModelShape& shape, const ArenaOptions& options);

// Workspace of the CPU backend, per thread: packed blocks of a matrix product (768 KiB of B, 256
// KiB of A, 3 MiB of unfinished sums), or the tiles of one attention head.
inline constexpr int64_t kGemmThreadWorkspaceBytes = (int64_t{4} << 20) + 64;
// The workspaces for attention heads of `head_size` channels and up to `sequence` positions.
int64_t AttentionThreadWorkspaceBytes(int64_t sequence, int64_t head_size);
int64_t CpuWorkspaceBytes(int64_t sequence, int64_t head_size, int threads);

}  // namespace gp::runspec
