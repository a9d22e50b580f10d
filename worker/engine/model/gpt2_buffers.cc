#include "worker/engine/model/gpt2_buffers.h"

namespace gp::engine {
namespace {

class ArenaReader {
 public:
  ArenaReader(const runspec::ArenaPlan& plan, std::byte* arena) : plan_(plan), arena_(arena) {}

  Buffer Get(const std::string& name) const {
    const runspec::ArenaTensor& tensor = plan_.at(name);
    return {arena_ + tensor.offset_bytes,
            tensor.type == "bf16" ? DataType::kBfloat16 : DataType::kFloat32};
  }
  float* F32(const std::string& name) const { return Get(name).f32(); }
  NormBuffers Norm(const std::string& name) const {
    return {Get(name), F32(name + ".mean"), F32(name + ".rstd")};
  }
  int32_t* Int32(const std::string& name) const { return static_cast<int32_t*>(Get(name).data); }

 private:
  const runspec::ArenaPlan& plan_;
  std::byte* arena_;
};

std::string BlockPrefix(int64_t layer) { return "h." + std::to_string(layer) + "."; }

}  // namespace

Gpt2Slots::Gpt2Slots(const runspec::ModelShape& shape, const runspec::ParameterLayout& layout) {
  const auto slot = [&](const std::string& module, bool has_bias) {
    return ParameterSlot{layout.at(module + ".weight").offset,
                         has_bias ? layout.at(module + ".bias").offset : -1};
  };
  wte = slot("wte", false);
  wpe = slot("wpe", false);
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    const std::string prefix = BlockPrefix(layer);
    blocks.push_back({.ln_1 = slot(prefix + "ln_1", shape.bias),
                      .c_attn = slot(prefix + "attn.c_attn", shape.bias),
                      .attn_c_proj = slot(prefix + "attn.c_proj", shape.bias),
                      .ln_2 = slot(prefix + "ln_2", shape.bias),
                      .c_fc = slot(prefix + "mlp.c_fc", shape.bias),
                      .mlp_c_proj = slot(prefix + "mlp.c_proj", shape.bias)});
  }
  ln_f = slot("ln_f", shape.bias);
  lm_head = shape.tied_head ? wte : slot("lm_head", false);
}

Gpt2Buffers::Gpt2Buffers(const runspec::ModelShape& shape, const runspec::ArenaPlan& plan,
                         std::byte* arena) {
  const ArenaReader reader(plan, arena);
  logits = reader.Get("logits");
  parameters = reader.F32("parameters");
  if (logits.type == DataType::kBfloat16) working_copy = reader.Get("working_copy").bf16();
  tokens = reader.Int32("tokens");
  targets = reader.Int32("targets");
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    const std::string prefix = BlockPrefix(layer);
    blocks.push_back({.residual = reader.F32(prefix + "residual"),
                      .ln_1 = reader.Norm(prefix + "ln_1"),
                      .qkv = reader.Get(prefix + "qkv"),
                      .attention = reader.Get(prefix + "attention"),
                      .lse = reader.F32(prefix + "lse"),
                      .residual_mid = reader.F32(prefix + "residual_mid"),
                      .ln_2 = reader.Norm(prefix + "ln_2"),
                      .fc = reader.Get(prefix + "fc"),
                      .gelu = reader.Get(prefix + "gelu")});
  }
  residual = reader.F32("residual");
  ln_f = reader.Norm("ln_f");
  lse = reader.F32("lse");
  last_rows = reader.Get("last_rows");
  next_logits = reader.F32("next_logits");
  branch = reader.Get("branch");
  d_residual = reader.F32("d_residual");
  d_branch = reader.Get("d_branch");
  d_channels = reader.Get("d_channels");
  d_qkv = reader.Get("d_qkv");
  d_fc = reader.Get("d_fc");
}

}  // namespace gp::engine
