// Loads a checkpoint into the training state. Refuses a checkpoint that is damaged, unsealed, or
// from another run. When it fails, the buffers hold no useful data. Functions may be called from
// any thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "formats/checkpoint_manifest.h"
#include "plan/model_shape.h"
#include "storage/storage.h"
#include "worker/checkpoint/tensor_stream.h"

namespace gp::engine {

// Properties that the checkpoint must have; an empty text is not compared.
struct CheckpointExpectation {
  std::string manifest_digest;
  runspec::ModelShape shape;
  std::string data_fingerprint;
  std::string tokenizer_fingerprint;
};

// Reads the manifest and compares. DataLoss: damaged. FailedPrecondition: intact, but it does not
// match the run; the message names the difference.
StatusOr<formats::CheckpointManifest> ReadCheckpointManifest(const Storage& storage,
                                                             const std::string& directory,
                                                             const CheckpointExpectation& expected);

// Reads the weights only, for sampling and evaluation. Verifies the file's size and digest on the
// way. The buffer has the layout of MakeParameterLayout(manifest.shape). DataLoss names file and
// tensor.
Status ReadWeights(const Storage& storage, const std::string& directory,
                   const formats::CheckpointManifest& manifest, std::span<float> parameters,
                   const WriteInto& write = WriteIntoHost);

// Passes the same weights to `take`, one tensor at a time, in a buffer of the largest tensor's
// size. `take` may use the values until it returns. If the file then turns out to be damaged, the
// values passed before must not be used.
using WeightsSink =
    std::function<void(const runspec::ParameterInfo& tensor, std::span<const float> values)>;
Status ReadWeightsByTensor(const Storage& storage, const std::string& directory,
                           const formats::CheckpointManifest& manifest, const WeightsSink& take);

// Reads the weights and the optimizer's state, for resuming. Also verifies tokenizer.json. `layout`
// is that of the manifest's shape and marks the parts that the run trains: moments of the others
// are not touched.
Status ReadTrainingState(const Storage& storage, const std::string& directory,
                         const formats::CheckpointManifest& manifest,
                         const runspec::ParameterLayout& layout, std::span<float> parameters,
                         std::span<float> first_moment, std::span<float> second_moment,
                         const WriteInto& write = WriteIntoHost);

// The serialised tokenizer of the checkpoint, verified.
StatusOr<std::string> ReadTokenizer(const Storage& storage, const std::string& directory,
                                    const formats::CheckpointManifest& manifest);

}  // namespace gp::engine
