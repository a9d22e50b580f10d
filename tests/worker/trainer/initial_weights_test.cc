#include "worker/trainer/initial_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "interop/checkpoint_model.h"
#include "interop/hugging_face_directory.h"
#include "lib/base/temporary_directory.h"
#include "lib/interop/small_model.h"
#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/model/make_language_model.h"
#include "worker/engine/step/training_error.h"

namespace gp::engine {
namespace {

using interop::SmallModel;
using interop::SmallShape;
using ::testing::HasSubstr;

class InitialWeights : public ::testing::Test {
 protected:
  static std::unique_ptr<LanguageModel> Fresh(const runspec::ModelShape& shape) {
    auto model = MakeLanguageModel({.shape = shape, .micro_batch = 1, .sequence = 4});
    InitializeNormal(1, *model);
    return model;
  }

  std::string WriteCheckpoint(const interop::ModelSource& source, const std::string& name) {
    const Status written =
        interop::WriteCheckpointModel(source, ByteTokenizer(), name, directory_.File(name), {});
    EXPECT_TRUE(written.ok()) << written;
    return directory_.File(name);
  }

  static std::span<const float> Of(LanguageModel& model, const std::string& name) {
    const runspec::ParameterInfo& tensor = model.layout().at(name);
    return model.parameters().subspan(static_cast<size_t>(tensor.offset),
                                      static_cast<size_t>(tensor.count));
  }

  static void Load(const std::string& path, LanguageModel& model) {
    const auto group = MakeLocalGroup(1, 1);
    LoadInitialWeights(path, *group[0], model);
  }

  TemporaryDirectory directory_;
};

TEST_F(InitialWeights, AreThoseOfTheModel) {
  const auto model = Fresh(SmallShape());
  const auto fresh = Fresh(SmallShape());
  Load(WriteCheckpoint(SmallModel(), "source"), *model);
  for (const auto& tensor : model->layout().tensors) {
    const auto values = Of(*model, tensor.name);
    // The rows of the padding keep the model's own initial values.
    const int64_t used = tensor.name == "wte.weight" ? 259 * 12 : tensor.count;
    for (int64_t i = 0; i < tensor.count; ++i) {
      const auto at = static_cast<size_t>(i);
      ASSERT_EQ(values[at],
                i < used ? SmallModel::ValueAt(tensor.name, i) : Of(*fresh, tensor.name)[at])
          << tensor.name << " " << i;
    }
  }
}

TEST_F(InitialWeights, FewerPositionsAndMoreIds) {
  runspec::ModelShape shape = SmallShape();
  shape.context = 7;
  shape.vocabulary = shape.vocabulary_padded = 300;
  const auto model = Fresh(shape);
  const auto fresh = Fresh(shape);
  Load(WriteCheckpoint(SmallModel(), "source"), *model);
  EXPECT_EQ(Of(*model, "wpe.weight")[83], SmallModel::ValueAt("wpe.weight", 83));
  EXPECT_EQ(Of(*model, "wte.weight")[258 * 12], SmallModel::ValueAt("wte.weight", 258 * 12));
  EXPECT_EQ(Of(*model, "wte.weight")[259 * 12], Of(*fresh, "wte.weight")[259 * 12]);
  EXPECT_NE(Of(*fresh, "wte.weight")[259 * 12], 0);
}

TEST_F(InitialWeights, WhatDoesNotFitIsNamed) {
  runspec::ModelShape shape = SmallShape();
  shape.bias = false;
  const auto model = Fresh(shape);
  const std::string path = WriteCheckpoint(SmallModel(), "source");
  try {
    Load(path, *model);
    FAIL();
  } catch (const TrainingError& error) {
    EXPECT_THAT(error.what(), HasSubstr(path));
    EXPECT_THAT(error.what(), HasSubstr("model.bias is false"));
  }
}

TEST_F(InitialWeights, RanksThatReadDifferentWeightsStop) {
  SmallModel other;
  other.Override("ln_f.bias", 0) = 0.5f;
  const std::string paths[] = {WriteCheckpoint(SmallModel(), "one"), WriteCheckpoint(other, "two")};
  const auto group = MakeLocalGroup(2, 2);
  std::string errors[2];
  const auto run = [&](size_t rank) {
    try {
      LoadInitialWeights(paths[rank], *group[rank], *Fresh(SmallShape()));
    } catch (const TrainingError& error) {
      errors[rank] = error.what();
    }
  };
  std::thread peer(run, 1);
  run(0);
  peer.join();
  for (const std::string& error : errors) EXPECT_THAT(error, HasSubstr("different weights"));
}

}  // namespace
}  // namespace gp::engine
