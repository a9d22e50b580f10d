#include "plan/arena_plan.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "plan/align_up.h"
#include "plan/gpu_workspace.h"

namespace gp::runspec {
namespace {

constexpr int64_t kAlignmentBytes = 64;

std::string ComputeType(const ArenaOptions& options) {
  return options.bf16 ? "bf16" : options.fp16 ? "fp16" : "fp32";
}

int64_t WorkspaceBytes(const ModelShape& shape, const ArenaOptions& options) {
  if (options.on_gpu) return GpuWorkspaceBytes(shape, options);
  return CpuWorkspaceBytes(options.sequence, shape.channels / shape.heads, options.threads);
}

class PlanBuilder {
 public:
  explicit PlanBuilder(const ArenaOptions& options)
      : compute_(ComputeType(options)),
        residual_(options.residual == ResidualType::kBf16 ? "bf16" : "fp32") {}

  void Add(const std::string& name, const std::string& type, std::vector<int64_t> shape) {
    plan_.Append(name, type, std::move(shape));
  }
  void Fp32(const std::string& name, std::vector<int64_t> shape) {
    Add(name, "fp32", std::move(shape));
  }
  // Adds a buffer in the compute type.
  void Compute(const std::string& name, std::vector<int64_t> shape) {
    Add(name, compute_, std::move(shape));
  }
  // Adds a buffer in the type of the residual stream.
  void Residual(const std::string& name, std::vector<int64_t> shape) {
    Add(name, residual_, std::move(shape));
  }
  void LayerNorm(const std::string& name, int64_t rows, int64_t channels) {
    Compute(name, {rows, channels});
    Fp32(name + ".mean", {rows});
    Fp32(name + ".rstd", {rows});
  }
  ArenaPlan Take() { return std::move(plan_); }

 private:
  const std::string compute_;
  const std::string residual_;
  ArenaPlan plan_;
};

// The input of a block. With engine.recompute: block, a block keeps only this.
void AddResidual(const ModelShape& s, const ArenaOptions& o, const std::string& prefix,
                 PlanBuilder& plan) {
  plan.Residual(prefix + "residual", {o.micro_batch * o.sequence, s.channels});
}

void AddAttention(const ModelShape& s, const ArenaOptions& o, const std::string& prefix,
                  PlanBuilder& plan) {
  const int64_t rows = o.micro_batch * o.sequence;
  plan.LayerNorm(prefix + "ln_1", rows, s.channels);
  plan.Compute(prefix + "qkv", {rows, 3 * s.channels});
  plan.Compute(prefix + "attention", {rows, s.channels});
  if (o.attention == Attention::kMath) {
    plan.Compute(prefix + "probabilities", {o.micro_batch, s.heads, o.sequence, o.sequence});
  } else {
    plan.Fp32(prefix + "lse", {o.micro_batch, s.heads, o.sequence});
  }
  plan.Residual(prefix + "residual_mid", {rows, s.channels});
}

void AddMlp(const ModelShape& s, const ArenaOptions& o, const std::string& prefix,
            PlanBuilder& plan) {
  const int64_t rows = o.micro_batch * o.sequence;
  plan.LayerNorm(prefix + "ln_2", rows, s.channels);
  plan.Compute(prefix + "fc", {rows, 4 * s.channels});
  if (o.recompute != Recompute::kGelu) plan.Compute(prefix + "gelu", {rows, 4 * s.channels});
}

// The buffers that blocks keep for their backward passes, and the buffers that they share.
// Forward-only blocks keep nothing.
void AddBlocks(const ModelShape& s, const ArenaOptions& o, PlanBuilder& plan) {
  const std::string shared = "shared.";
  const bool recomputed = o.recompute == Recompute::kBlock;
  for (int64_t layer = o.forward_only_blocks; layer < s.layers; ++layer) {
    const std::string prefix = "h." + std::to_string(layer) + ".";
    AddResidual(s, o, prefix, plan);
    if (recomputed) continue;
    AddAttention(s, o, prefix, plan);
    AddMlp(s, o, prefix, plan);
  }
  if (o.forward_only_blocks > 0) AddResidual(s, o, shared, plan);
  if (o.forward_only_blocks > 0 || recomputed) {
    AddAttention(s, o, shared, plan);
    AddMlp(s, o, shared, plan);
  }
  if (o.recompute == Recompute::kGelu) {
    plan.Compute(shared + "gelu", {o.micro_batch * o.sequence, 4 * s.channels});
  }
}

void AddHead(const ModelShape& s, const ArenaOptions& o, PlanBuilder& plan) {
  const int64_t rows = o.micro_batch * o.sequence;
  plan.Residual("residual", {rows, s.channels});
  plan.LayerNorm("ln_f", rows, s.channels);
  plan.Compute("logits", {HeadRows(o), s.vocabulary_padded});
  plan.Fp32("lse", {rows});
  plan.Compute("last_rows", {o.micro_batch, s.channels});
  plan.Fp32("next_logits", {o.micro_batch, s.vocabulary_padded});
}

// Shared by all layers.
void AddTransients(const ModelShape& s, const ArenaOptions& o, PlanBuilder& plan) {
  const int64_t rows = o.micro_batch * o.sequence;
  plan.Compute("branch", {rows, s.channels});
  plan.Residual("d_residual", {rows, s.channels});
  plan.Compute("d_branch", {rows, s.channels});
  plan.Compute("d_channels", {rows, s.channels});
  plan.Compute("d_qkv", {rows, 3 * s.channels});
  plan.Compute("d_fc", {rows, 4 * s.channels});
  if (o.attention == Attention::kMath) {
    plan.Compute("d_scores", {o.micro_batch, s.heads, o.sequence, o.sequence});
  }
}

}  // namespace

const ArenaTensor& ArenaPlan::at(const std::string& name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const ArenaTensor& tensor) { return tensor.name == name; });
  if (found == tensors.end()) throw std::out_of_range("the arena has no tensor '" + name + "'");
  return *found;
}

void ArenaPlan::Append(const std::string& name, const std::string& type,
                       std::vector<int64_t> shape) {
  int64_t size_bytes = type == "bytes" ? 1 : type == "bf16" || type == "fp16" ? 2 : 4;
  for (const int64_t dimension : shape) size_bytes *= dimension;
  tensors.push_back({name, type, std::move(shape), total_bytes, size_bytes});
  total_bytes += AlignUp(size_bytes, kAlignmentBytes);
}

bool ArenaPlan::has(const std::string& name) const {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const ArenaTensor& tensor) { return tensor.name == name; });
}

ArenaOptions WithPrecision(Precision precision, ArenaOptions options) {
  options.bf16 = precision == Precision::kBf16 || precision == Precision::kFp8;
  options.fp16 = precision == Precision::kFp16;
  options.fp8 = precision == Precision::kFp8;
  return options;
}

int64_t HeadRows(const ArenaOptions& options) {
  const int64_t rows = options.micro_batch * options.sequence;
  if (options.chunked_head <= 0) return rows;
  return std::min(rows, AlignUp(options.chunked_head, 2));
}

ArenaPlan MakeArenaPlan(const ModelShape& shape, const ArenaOptions& options) {
  PlanBuilder plan(options);
  const int64_t rows = options.micro_batch * options.sequence;
  const int64_t parameters = MakeParameterLayout(shape).total_count;
  plan.Fp32("parameters", {parameters});
  const std::string compute = ComputeType(options);
  if (compute != "fp32") plan.Add("working_copy", compute, {parameters});
  plan.Add("scalars", "bytes", {kArenaScalarBytes});
  plan.Add("tokens", "int32", {rows});
  plan.Add("targets", "int32", {rows});
  AddBlocks(shape, options, plan);
  AddHead(shape, options, plan);
  AddTransients(shape, options, plan);
  plan.Add("workspace", "bytes", {WorkspaceBytes(shape, options)});
  return plan.Take();
}

int64_t AttentionThreadWorkspaceBytes(int64_t sequence, int64_t head_size) {
  const int64_t rows = AlignUp(sequence, 64);
  const int64_t columns = AlignUp(head_size, 64);
  // Forward: a block of q and of the result, k^T and a strip of scores (rows + 16 wide), v.
  const int64_t forward = (2 * 64 + rows) * columns + (columns + 64) * (rows + 16);
  // Backward: q, dout, dq and out . dout; one block of k, dk and dv, of k^T and v^T and of scores
  // and their gradients (80 wide).
  const int64_t backward =
      3 * rows * columns + rows + 3 * 64 * columns + (2 * columns + 2 * 64) * 80;
  const int64_t floats = std::max(forward, backward);
  return floats * static_cast<int64_t>(sizeof(float));
}

int64_t CpuWorkspaceBytes(int64_t sequence, int64_t head_size, int threads) {
  const int64_t attention_bytes = AttentionThreadWorkspaceBytes(sequence, head_size);
  return threads * AlignUp(std::max(kGemmThreadWorkspaceBytes, attention_bytes), kAlignmentBytes);
}

}  // namespace gp::runspec
