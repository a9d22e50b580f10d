#include "worker/engine/model/gpt2_buffers.h"

namespace gp::engine {
namespace {

class ArenaReader {
 public:
  ArenaReader(const runspec::ArenaPlan& plan, std::byte* arena) : plan_(plan), arena_(arena) {}

  Buffer Get(const std::string& name) const {
    const runspec::ArenaTensor& tensor = plan_.at(name);
    return {arena_ + tensor.offset_bytes, DataTypeOf(tensor)};
  }
  bool Has(const std::string& name) const { return plan_.has(name); }
  Buffer GetIfAny(const std::string& name) const { return Has(name) ? Get(name) : Buffer{}; }
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

// The buffers of one block: its own, or those that the blocks share.
class BlockReader {
 public:
  BlockReader(const ArenaReader& reader, int64_t layer)
      : reader_(reader), own_(BlockPrefix(layer)) {}

  BlockBuffers Read() const {
    return {.residual = reader_.Get(Name("residual")),
            .ln_1 = reader_.Norm(Name("ln_1")),
            .qkv = reader_.Get(Name("qkv")),
            .attention = reader_.Get(Name("attention")),
            .lse = reader_.GetIfAny(Name("lse")).f32(),
            .probabilities = reader_.GetIfAny(Name("probabilities")),
            .residual_mid = reader_.Get(Name("residual_mid")),
            .ln_2 = reader_.Norm(Name("ln_2")),
            .fc = reader_.Get(Name("fc")),
            .gelu = reader_.Get(Name("gelu"))};
  }

 private:
  std::string Name(const std::string& tensor) const {
    return reader_.Has(own_ + tensor) ? own_ + tensor : "shared." + tensor;
  }

  const ArenaReader& reader_;
  const std::string own_;
};

}  // namespace

DataType DataTypeOf(const runspec::ArenaTensor& tensor) {
  if (tensor.type == "bf16") return DataType::kBfloat16;
  return tensor.type == "fp16" ? DataType::kFloat16 : DataType::kFloat32;
}

Gpt2Slots::Gpt2Slots(const runspec::ModelShape& shape, const runspec::ParameterLayout& layout) {
  const auto slot = [&](const std::string& module, bool has_bias) {
    const runspec::ParameterInfo& weight = layout.at(module + ".weight");
    return ParameterSlot{weight.offset, has_bias ? layout.at(module + ".bias").offset : -1,
                         weight.trained};
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
  working_copy = reader.GetIfAny("working_copy");
  loss = static_cast<double*>(reader.Get("scalars").data);
  discarded_loss = loss + 1;
  dropout_key = reinterpret_cast<uint64_t*>(loss + 2);
  tokens = reader.Int32("tokens");
  targets = reader.Int32("targets");
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    blocks.push_back(BlockReader(reader, layer).Read());
  }
  residual = reader.Get("residual");
  ln_f = reader.Norm("ln_f");
  lse = reader.F32("lse");
  last_rows = reader.Get("last_rows");
  next_logits = reader.F32("next_logits");
  branch = reader.Get("branch");
  d_residual = reader.Get("d_residual");
  d_branch = reader.Get("d_branch");
  d_channels = reader.Get("d_channels");
  d_qkv = reader.Get("d_qkv");
  d_fc = reader.Get("d_fc");
  d_scores = reader.GetIfAny("d_scores");
}

}  // namespace gp::engine
