// CheckpointFixture: the training state of a small model, saved to a test directory and read back.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "lib/base/eventually.h"
#include "lib/base/temporary_directory.h"
#include "storage/local_storage.h"
#include "worker/checkpoint/checkpoint_reader.h"
#include "worker/checkpoint/checkpoint_writer.h"

namespace gp::engine {

class CheckpointFixture : public ::testing::Test {
 protected:
  CheckpointFixture() {
    identity_.run_id = "0123456789";
    identity_.run_name = "demo";
    identity_.incarnation = "abcdef";
    identity_.shape = {.layers = 2,
                       .heads = 3,
                       .channels = 15,
                       .context = 7,
                       .vocabulary = 11,
                       .vocabulary_padded = 13};
    identity_.data_fingerprint = "data";
    identity_.tokenizer = R"({"kind":"bytes"})";
    identity_.tokenizer_fingerprint = "tokenizer";
    const auto layout = runspec::MakeParameterLayout(identity_.shape);
    for (auto* buffer : {&parameters_, &first_, &second_}) {
      buffer->assign(static_cast<size_t>(layout.total_count), 0.0f);
      for (const auto& tensor : layout.tensors) {
        for (int64_t i = 0; i < tensor.count; ++i) {
          (*buffer)[static_cast<size_t>(tensor.offset + i)] = std::sin(next_ += 0.7f);
        }
      }
    }
  }

  CheckpointState State(int64_t step) const {
    return {.step = step,
            .epoch = epoch_,
            .tokens = step * 768,
            .validation_loss = 1.5,
            .record = {.step_budget = 99},
            .final = true,
            .parameters = parameters_,
            .first_moment = first_,
            .second_moment = second_};
  }

  std::string Parent() const { return JoinPath(directory_.path(), "checkpoints"); }

  SavedCheckpoint Save(int64_t step) {
    CheckpointWriter writer(std::make_shared<LocalStorage>(), Parent(), identity_, {});
    EXPECT_TRUE(writer.Start(State(step)).ok());
    const auto saved = writer.Wait(kPatience);
    EXPECT_TRUE(saved.ok()) << saved.status();
    return saved.value_or(SavedCheckpoint{});
  }

  CheckpointExpectation Expectation() const {
    return {.manifest_digest = "",
            .shape = identity_.shape,
            .data_fingerprint = "data",
            .tokenizer_fingerprint = "tokenizer"};
  }

  Status Load(const std::string& directory) {
    ASSIGN_OR_RETURN(const auto manifest,
                     ReadCheckpointManifest(storage_, directory, Expectation()));
    std::vector<float> parameters(parameters_.size(), 9), first = parameters, second = parameters;
    RETURN_IF_ERROR(ReadTrainingState(storage_, directory, manifest,
                                      runspec::MakeParameterLayout(identity_.shape), parameters,
                                      first, second));
    EXPECT_EQ(parameters, parameters_);
    EXPECT_EQ(first, first_);
    EXPECT_EQ(second, second_);
    return OkStatus();
  }

  TemporaryDirectory directory_;
  LocalStorage storage_;
  CheckpointIdentity identity_;
  uint64_t epoch_ = 3;
  std::vector<float> parameters_, first_, second_;
  float next_ = 0;
};

}  // namespace gp::engine
