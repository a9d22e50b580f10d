// Goal: the reference model gives the same results whether it is written plainly or with library
// functions.
#include <gtest/gtest.h>

#include "worker/engine/model/model_fixture.h"
#include "worker/engine/model/reference_gpt2.h"

namespace gp::engine {
namespace {

std::vector<float> GradientsOf(const runspec::ModelShape& shape, const ReferenceStyle& style) {
  const auto model = MakeReferenceGpt2(shape, 1, style);
  FillParameters(*model);
  const Batch batch(shape, 2, 11);
  model->Forward(batch.view(), Dropout{});
  std::vector<float> gradients(model->parameters().size());
  model->Backward(1, gradients, false, {});
  return gradients;
}

TEST(ReferenceStyle, ChangesNoGradient) {
  for (const auto gelu : {runspec::Gelu::kErf, runspec::Gelu::kTanh}) {
    runspec::ModelShape shape = OddShape();
    shape.gelu = gelu;
    const std::vector<float> plain =
        GradientsOf(shape, ReferenceStyle{.library_operations = false, .mask_on_the_fly = false});
    const std::vector<float> library = GradientsOf(shape, {});
    for (const runspec::ParameterInfo& tensor : runspec::MakeParameterLayout(shape).tensors) {
      // fp32 sums are computed in a different order.
      EXPECT_LT(RelativeDifference(tensor, plain, library), 1e-4) << tensor.name;
    }
  }
}

}  // namespace
}  // namespace gp::engine
