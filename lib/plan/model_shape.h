// The sizes of a GPT-2 model, and values computed from them: parameter layout, counts.
// Standard library only, because the engine core, the validator and the benches share it. Values
// and pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gp::runspec {

enum class Gelu { kErf, kTanh };

struct ModelShape {
  int64_t layers = 4;               // L
  int64_t heads = 4;                // H
  int64_t channels = 128;           // C, a multiple of H
  int64_t context = 128;            // longest sequence, rows of wpe
  int64_t vocabulary = 256;         // V, token ids
  int64_t vocabulary_padded = 256;  // Vp >= V, rows of wte
  bool bias = true;                 // in Linear and LayerNorm
  Gelu gelu = Gelu::kTanh;
  double dropout = 0.0;
  bool tied_head = true;  // lm_head.weight is wte.weight

  bool operator==(const ModelShape&) const = default;
};

// One tensor of the flat parameter buffer. Names are Hugging Face's GPT-2 names without
// "transformer." ("h.0.attn.c_attn.weight"). Matrices are stored as in torch.nn.Linear: (out, in),
// row-major.
struct ParameterInfo {
  std::string name;
  std::vector<int64_t> shape;
  int64_t offset = 0;    // elements from the start of the buffer
  int64_t count = 0;     // elements
  bool decayed = false;  // has >= 2 dimensions: weight decay applies
  bool trained = true;   // else frozen: it has no gradient and never changes
  double lr_ratio = 1;   // its learning rate, as a share of optimizer.lr
};

// Elements of the flat parameter buffer between tensors.
struct ParameterGap {
  int64_t offset = 0;  // elements from the start of the buffer
  int64_t count = 0;   // elements, > 0
};

// Every tensor, in the order of the buffer: all decayed tensors first, then the others, each group
// contiguous and every tensor aligned to 16 elements. `total_count` includes the alignment gaps,
// which stay zero.
struct ParameterLayout {
  std::vector<ParameterInfo> tensors;
  int64_t decayed_count = 0;  // elements [0, decayed_count) are decayed
  int64_t total_count = 0;

  // Throws std::out_of_range for an unknown name.
  const ParameterInfo& at(const std::string& name) const;
  // The alignment gaps that hold at least one element, in the order of the buffer.
  std::vector<ParameterGap> Gaps() const;
};

ParameterLayout MakeParameterLayout(const ModelShape& shape);

// Parameters without alignment gaps; tied weights count once. 124,439,808 for GPT-2 with V = Vp =
// 50257.
int64_t ParameterCount(const ModelShape& shape);

// The sizes that have a name, and their shapes with the vocabulary padded to a multiple of 64.
std::vector<std::string> ModelNames();
std::optional<ModelShape> NamedModelShape(const std::string& name);

}  // namespace gp::runspec
