// Goal: losses and all gradients of the hand-written model equal those of the fp64 reference, for
// both GELUs, with and without biases, tying and dropout, and for all precisions, engines and
// instruction sets.
#include <gtest/gtest.h>

#include <tuple>

#include "worker/engine/model/switch_case.h"

namespace gp::engine {
namespace {

struct Variant {
  runspec::Gelu gelu = runspec::Gelu::kErf;
  bool bias = true;
  bool tied = true;
  double dropout = 0;
};

ModelOptions OptionsOf(const Variant& variant) {
  ModelOptions options{.shape = OddShape(), .micro_batch = 3, .sequence = 17};
  options.shape.gelu = variant.gelu;
  options.shape.bias = variant.bias;
  options.shape.tied_head = variant.tied;
  return options;
}

Dropout DropoutOf(const Variant& variant) {
  return {.probability = variant.dropout, .seed = 11, .step = 5, .shard = 2, .micro_batch = 1};
}

std::vector<Variant> Variants() {
  return {{runspec::Gelu::kErf, true, true, 0},
          {runspec::Gelu::kTanh, true, true, 0},
          {runspec::Gelu::kErf, false, true, 0},
          {runspec::Gelu::kTanh, true, false, 0.3}};
}

TEST(Gpt2Gradient, EqualsTheReferenceInFp32) {
  for (const Variant& variant : Variants()) {
    ExpectMatchesReference(OptionsOf(variant), DropoutOf(variant), 1e-5);
  }
}

TEST(Gpt2Gradient, EqualsTheReferenceInBf16) {
  for (const Variant& variant : Variants()) {
    ModelOptions options = OptionsOf(variant);
    options.precision = runspec::Precision::kBf16;
    ExpectMatchesReference(options, DropoutOf(variant), 1e-2);
  }
}

TEST(Gpt2Gradient, EqualsTheReferenceOnEveryInstructionSet) {
  for (const Isa isa : {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx}) {
    if (!IsaSupported(isa)) continue;
    ModelOptions options = OptionsOf(Variants()[3]);
    options.isa = isa;
    SCOPED_TRACE(IsaName(isa));
    ExpectMatchesReference(options, DropoutOf(Variants()[3]), 1e-5);
  }
}

TEST(Gpt2Gradient, OfTheReferenceEngineEqualsFp64) {
  for (const Variant& variant : Variants()) {
    ModelOptions options = OptionsOf(variant);
    options.kind = runspec::EngineKind::kReference;
    ExpectMatchesReference(options, DropoutOf(variant), 1e-5);
  }
}

// Checks the reference itself: central differences of its loss at a few elements of every tensor.
TEST(Gpt2Gradient, OfTheReferenceEqualsFiniteDifferences) {
  for (const Variant& variant : Variants()) {
    const ModelOptions options = OptionsOf(variant);
    const auto model = MakeLanguageModel(options);
    FillParameters(*model);
    std::vector<double> parameters = Widened(model->parameters());
    const Batch batch(options.shape, 2, 7);
    const auto reference = [&] {
      return ComputeReference(options.shape, parameters, batch.view(), DropoutOf(variant));
    };
    const ReferenceResult exact = reference();
    for (const runspec::ParameterInfo& tensor : model->layout().tensors) {
      const auto at = static_cast<size_t>(tensor.offset + tensor.count / 2);
      constexpr double kStep = 1e-5;
      const double kept = parameters[at];
      parameters[at] = kept + kStep;
      const double above = reference().loss;
      parameters[at] = kept - kStep;
      const double below = reference().loss;
      parameters[at] = kept;
      // The difference quotient loses half of the digits of fp64.
      EXPECT_NEAR((above - below) / (2 * kStep), exact.gradients[at], 1e-6) << tensor.name;
    }
  }
}

}  // namespace
}  // namespace gp::engine
