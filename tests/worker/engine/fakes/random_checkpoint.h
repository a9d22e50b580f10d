// A small model of bytes with random weights, and a checkpoint of it that a sampler can open.
#pragma once

#include <memory>
#include <string>

#include "formats/training_record.h"
#include "worker/engine/model/make_language_model.h"

namespace gp::engine {

inline constexpr runspec::ModelShape kRandomModelShape = {
    .layers = 1, .heads = 2, .channels = 16, .context = 8, .vocabulary = 256};

// The weights are so large that bf16 generates another text than fp32.
std::unique_ptr<LanguageModel> MakeRandomModel(
    runspec::Precision precision = runspec::Precision::kFp32);

// Writes a checkpoint of this model below `directory`, with `record` in its manifest; returns its
// path.
std::string WriteRandomCheckpoint(const std::string& directory, int64_t step,
                                  const formats::TrainingRecord& record = {});

}  // namespace gp::engine
