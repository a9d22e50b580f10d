// nanoGPT's initialisation, draw by draw. Its model.py constructs every module first, and torch's
// constructors draw initial values; then it visits the modules in order, and finally the c_proj
// weights. Only the order and the sizes of the draws matter: the constructors' values are
// overwritten.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "worker/engine/model/make_language_model.h"

namespace gp::engine {
namespace {

class NanoGptDraws {
 public:
  NanoGptDraws(uint64_t seed, LanguageModel& model)
      : generator_(at::detail::createCPUGenerator(seed)), model_(model) {}

  void ConstructModules() {
    const runspec::ModelShape& s = model_.shape();
    ConstructEmbedding(s.vocabulary_padded);
    ConstructEmbedding(s.context);
    for (int64_t layer = 0; layer < s.layers; ++layer) {
      ConstructLinear(3 * s.channels, s.channels);
      ConstructLinear(s.channels, s.channels);
      ConstructLinear(4 * s.channels, s.channels);
      ConstructLinear(s.channels, 4 * s.channels);
    }
    Uniform({s.vocabulary_padded, s.channels});  // lm_head, which has no bias
  }

  // Module.apply(_init_weights): children in order. A tied head draws wte a second time.
  void VisitModules() {
    Normal("wte.weight", 0.02);
    Normal("wpe.weight", 0.02);
    for (int64_t layer = 0; layer < model_.shape().layers; ++layer) {
      const std::string prefix = "h." + std::to_string(layer) + ".";
      Normal(prefix + "attn.c_attn.weight", 0.02);
      Normal(prefix + "attn.c_proj.weight", 0.02);
      Normal(prefix + "mlp.c_fc.weight", 0.02);
      Normal(prefix + "mlp.c_proj.weight", 0.02);
    }
    Normal(model_.shape().tied_head ? "wte.weight" : "lm_head.weight", 0.02);
  }

  void ScaleProjections() {
    const double deviation = 0.02 / std::sqrt(2.0 * static_cast<double>(model_.shape().layers));
    for (int64_t layer = 0; layer < model_.shape().layers; ++layer) {
      const std::string prefix = "h." + std::to_string(layer) + ".";
      Normal(prefix + "attn.c_proj.weight", deviation);
      Normal(prefix + "mlp.c_proj.weight", deviation);
    }
  }

 private:
  // nn.Embedding draws normal(0, 1).
  void ConstructEmbedding(int64_t rows) {
    at::empty({rows, model_.shape().channels}, at::kFloat).normal_(0, 1, generator_);
  }
  // nn.Linear draws uniform values for the weight and then for the bias.
  void ConstructLinear(int64_t out, int64_t in) {
    Uniform({out, in});
    if (model_.shape().bias) Uniform({out});
  }
  void Uniform(const std::vector<int64_t>& shape) {
    at::empty(shape, at::kFloat).uniform_(-1, 1, generator_);
  }
  void Normal(const std::string& name, double deviation) {
    const runspec::ParameterInfo& tensor = model_.layout().at(name);
    const at::Tensor values = at::empty(tensor.shape, at::kFloat);
    values.normal_(0, deviation, generator_);
    model_.backend().Upload(model_.parameters().data() + tensor.offset, values.data_ptr<float>(),
                            tensor.count * static_cast<int64_t>(sizeof(float)));
  }

  at::Generator generator_;
  LanguageModel& model_;
};

void FillUndecayed(LanguageModel& model) {
  for (const runspec::ParameterInfo& tensor : model.layout().tensors) {
    if (tensor.decayed) continue;
    const std::vector<float> values(static_cast<size_t>(tensor.count),
                                    tensor.name.ends_with(".weight") ? 1.0f : 0.0f);
    model.backend().Upload(model.parameters().data() + tensor.offset, values.data(),
                           tensor.count * static_cast<int64_t>(sizeof(float)));
  }
}

}  // namespace

void InitializeTorch(uint64_t seed, LanguageModel& model) {
  FillUndecayed(model);
  NanoGptDraws draws(seed, model);
  draws.ConstructModules();
  draws.VisitModules();
  draws.ScaleProjections();
  model.ParametersChanged();
}

}  // namespace gp::engine
