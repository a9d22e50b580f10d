#include "worker/engine/fakes/random_checkpoint.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "storage/local_storage.h"
#include "tokenizer/byte_tokenizer.h"
#include "worker/checkpoint/checkpoint_writer.h"

namespace gp::engine {

std::unique_ptr<LanguageModel> MakeRandomModel(runspec::Precision precision) {
  auto model = MakeLanguageModel({.shape = kRandomModelShape,
                                  .precision = precision,
                                  .micro_batch = 1,
                                  .sequence = kRandomModelShape.context});
  InitializeNormal(7, *model);
  for (float& value : model->parameters()) value *= 8;
  const auto copy = model->working_copy();
  if (!copy.empty()) {
    model->backend().Round(std::ssize(copy), copy.data(), model->parameters().data(), {});
  }
  return model;
}

std::string WriteRandomCheckpoint(const std::string& directory, int64_t step,
                                  const formats::TrainingRecord& record) {
  const ByteTokenizer tokenizer;
  const auto model = MakeRandomModel();
  const std::vector<float> zeros(model->parameters().size());
  CheckpointWriter writer(std::make_shared<LocalStorage>(), directory,
                          {.run_id = "run",
                           .run_name = "run",
                           .incarnation = "i",
                           .shape = kRandomModelShape,
                           .data_fingerprint = "data",
                           .tokenizer = tokenizer.Serialized(),
                           .tokenizer_fingerprint = tokenizer.Fingerprint()},
                          {});
  const Status started = writer.Start({.step = step,
                                       .record = record,
                                       .parameters = model->parameters(),
                                       .first_moment = zeros,
                                       .second_moment = zeros});
  EXPECT_TRUE(started.ok()) << started;
  const auto saved = writer.Wait(std::chrono::minutes(1));
  EXPECT_TRUE(saved.ok()) << saved.status();
  return saved.ok() ? saved->directory : "";
}

}  // namespace gp::engine
