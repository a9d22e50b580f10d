// A case: one setting of every switch of the model; and the comparison of its gradient with the
// fp64 reference. All sizes are odd.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "worker/engine/model/model_fixture.h"
#include "worker/engine/model/reference_gpt2.h"

namespace gp::engine {

// A switch and the number of its settings; a case selects a setting by its number.
struct Switch {
  const char* name;
  int settings;
  std::function<void(int setting, ModelOptions& options, Dropout& dropout)> apply;
};

// The parts to train: 0: all; 1: the last block; 2: the first block, so that the backward pass goes
// through frozen blocks; 3: embedding and head; 4: positions and the last block; 5: nothing below
// the head.
inline runspec::TrainedParts SomeParts(int i, bool tied) {
  const runspec::ModelPart wte{"wte"}, wpe{"wpe"}, ln_f{"ln_f"};
  const runspec::ModelPart head{tied ? "ln_f" : "lm_head"};
  switch (i) {
    case 1:
      return {.trained = {{"h", 1, 2}, ln_f}};
    case 2:
      return {.trained = {{"h", 0, 1}}};
    case 3:
      return {.trained = {wte, head}};
    case 4:
      return {.trained = {wpe, {"h", 1, 2}}};
    case 5:
      return {.trained = {ln_f, head}};
    default:
      return {};
  }
}

inline const std::vector<Switch>& Switches() {
  using runspec::EngineKind;
  using runspec::Precision;
  static const std::vector<Switch> switches = {
      {"gelu", 2,
       [](int i, ModelOptions& o, Dropout&) {
         o.shape.gelu = i == 0 ? runspec::Gelu::kErf : runspec::Gelu::kTanh;
       }},
      {"bias", 2, [](int i, ModelOptions& o, Dropout&) { o.shape.bias = i == 0; }},
      {"dropout", 2, [](int i, ModelOptions&, Dropout& d) { d.probability = i == 0 ? 0 : 0.3; }},
      {"tied", 2, [](int i, ModelOptions& o, Dropout&) { o.shape.tied_head = i == 0; }},
      {"eager", 2,
       [](int i, ModelOptions& o, Dropout&) {
         o.kind = i == 0 ? EngineKind::kFused : EngineKind::kEager;
       }},
      {"precision", 3,  // fp32, bf16, bf16 with a bf16 residual stream
       [](int i, ModelOptions& o, Dropout&) {
         o.precision = i == 0 ? Precision::kFp32 : Precision::kBf16;
         o.residual = i == 2 ? runspec::ResidualType::kBf16 : runspec::ResidualType::kFp32;
       }},
      {"attention", 2,
       [](int i, ModelOptions& o, Dropout&) {
         o.attention = i == 0 ? runspec::Attention::kFlash : runspec::Attention::kMath;
       }},
      {"recompute", 3,
       [](int i, ModelOptions& o, Dropout&) { o.recompute = static_cast<runspec::Recompute>(i); }},
      {"chunked_head", 3, [](int i, ModelOptions& o, Dropout&) { o.chunked_head = 7 * i; }},
      {"trained", 6,
       [](int i, ModelOptions& o, Dropout&) { o.trained = SomeParts(i, o.shape.tied_head); }},
      {"threads", 2, [](int i, ModelOptions& o, Dropout&) { o.threads = 1 + i; }},
      {"sizes", 3,
       [](int i, ModelOptions& o, Dropout&) {
         constexpr int64_t kHeads[] = {3, 1, 5};
         constexpr int64_t kChannels[] = {21, 19, 55};
         constexpr int64_t kVocabularies[] = {31, 67, 13};
         o.shape.heads = kHeads[i];
         o.shape.channels = kChannels[i];
         o.shape.vocabulary = kVocabularies[i];
         o.shape.vocabulary_padded = kVocabularies[i] + 6 * (i % 2);
         o.micro_batch = 3 - i;
         o.sequence = 17 + i;
       }},
  };
  return switches;
}

using SwitchCase = std::vector<int>;  // number of the setting of each switch

inline std::string Description(const SwitchCase& settings) {
  std::ostringstream text;
  for (size_t i = 0; i < settings.size(); ++i) {
    text << Switches()[i].name << "=" << settings[i] << " ";
  }
  return text.str();
}

// The initial value of the gradients in a test.
inline constexpr float kUntouched = 99.0f;

// `tolerance` is for the relative difference of the whole gradient, by norm. A single tensor may
// differ by three times that, because its rounding errors average out less. Gradients of frozen
// tensors must be unchanged.
inline void ExpectGradients(const runspec::ParameterLayout& layout, std::vector<float> gradients,
                            std::vector<double> expected, double tolerance) {
  for (const runspec::ParameterInfo& tensor : layout.tensors) {
    if (tensor.trained) {
      EXPECT_LT(RelativeDifference(tensor, gradients, expected), 3 * tolerance) << tensor.name;
      continue;
    }
    const auto first = gradients.begin() + tensor.offset;
    const bool untouched =
        std::all_of(first, first + tensor.count, [](float value) { return value == kUntouched; });
    EXPECT_TRUE(untouched) << tensor.name;
    std::fill_n(first, tensor.count, 0.0f);
    std::fill_n(expected.begin() + tensor.offset, tensor.count, 0.0);
  }
  const runspec::ParameterInfo all{.name = "all", .count = layout.total_count};
  EXPECT_LT(RelativeDifference(all, gradients, expected), tolerance);
}

// Compares one model's loss and gradient with the fp64 reference.
inline void ExpectMatchesReference(const ModelOptions& options, const Dropout& dropout,
                                   double tolerance) {
  const auto model = MakeLanguageModel(options);
  // For bf16, weights of ordinary size: large ones would amplify its rounding of their inputs.
  FillParameters(*model, options.precision == runspec::Precision::kBf16 ? 0.1f : 0.2f);
  const Batch batch(options.shape, options.micro_batch, options.sequence);
  const ReferenceResult expected =
      ComputeReference(options.shape, Widened(model->parameters()), batch.view(), dropout);
  const double loss = model->Forward(batch.view(), dropout);
  EXPECT_NEAR(loss / expected.loss, 1, tolerance);
  ExpectGradients(model->layout(), Gradients(*model, batch.view(), dropout), expected.gradients,
                  tolerance);
}

inline void ExpectMatchesReference(const SwitchCase& settings) {
  SCOPED_TRACE(Description(settings));
  ModelOptions options{.shape = OddShape()};
  Dropout dropout{.seed = 11, .step = 5, .shard = 2, .micro_batch = 1};
  for (size_t i = 0; i < settings.size(); ++i) Switches()[i].apply(settings[i], options, dropout);
  double tolerance = options.precision == runspec::Precision::kBf16 ? 1e-2 : 1e-5;
  // A bf16 residual stream adds two roundings per block.
  if (options.residual == runspec::ResidualType::kBf16) tolerance *= 2;
  ExpectMatchesReference(options, dropout, tolerance);
}

}  // namespace gp::engine
