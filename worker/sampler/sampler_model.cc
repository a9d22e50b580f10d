#include "worker/sampler/sampler_model.h"

#include <exception>
#include <span>
#include <utility>

#include "formats/checkpoint_directory.h"
#include "formats/recorded_precision.h"
#include "runspec/sampler_plan.h"
#include "storage/local_storage.h"
#include "worker/checkpoint/checkpoint_reader.h"
#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/backend/device_backend.h"
#include "worker/engine/model/gpt2_decoder.h"

namespace gp::engine {
namespace {

constexpr int64_t kPromptRowsOnCpu = 64;
constexpr int64_t kPromptRowsOnDevice = 256;

std::unique_ptr<Backend> MakeSamplerBackend(const runspec::ModelShape& shape,
                                            runspec::Precision precision, int threads,
                                            bool on_device) {
  if (!on_device) return MakeCpuBackend({.threads = threads});
  // A decoder needs none of the attention kernels that a device's backend plans and checks.
  const runspec::ArenaOptions arena =
      runspec::WithPrecision(precision, {.micro_batch = 1,
                                         .sequence = shape.context,
                                         .attention = runspec::Attention::kMath,
                                         .on_gpu = true});
  return MakeDeviceBackend({.shape = shape, .arena = arena, .precision = precision}).backend;
}

// Passes the weights to the decoder one tensor at a time; it stores them in its own format.
Status LoadWeights(const std::string& directory, const formats::CheckpointManifest& manifest,
                   Gpt2Decoder& decoder) {
  LocalStorage storage;
  return ReadWeightsByTensor(
      storage, directory, manifest,
      [&decoder](const runspec::ParameterInfo& tensor, std::span<const float> values) {
        decoder.SetParameter(tensor.name, values);
      });
}

}  // namespace

StatusOr<SamplerModel> SamplerModel::Open(const std::string& directory,
                                          const SamplerOptions& options) {
  LocalStorage storage;
  SamplerModel model;
  ASSIGN_OR_RETURN(model.directory_, formats::FindCheckpointIn(LocalStorage(), directory));
  ASSIGN_OR_RETURN(model.manifest_, formats::ReadManifest(LocalStorage(), model.directory_));
  ASSIGN_OR_RETURN(const std::string tokenizer,
                   ReadTokenizer(storage, model.directory_, model.manifest_));
  ASSIGN_OR_RETURN(model.tokenizer_, ParseTokenizer(tokenizer));
  if (model.tokenizer_->vocabulary_size() > model.manifest_.shape.vocabulary) {
    return DataLoss("{}: the tokenizer has {} ids, but the model has {}", model.directory_,
                    model.tokenizer_->vocabulary_size(), model.manifest_.shape.vocabulary);
  }
  ASSIGN_OR_RETURN(model.precision_,
                   formats::InferencePrecision(options.precision, model.manifest_));
  RETURN_IF_ERROR(model.MakeDecoder(options));
  return model;
}

Status SamplerModel::MakeDecoder(const SamplerOptions& options) {
  const runspec::ModelShape& shape = manifest_.shape;
  try {
    on_device_ = FindDevice().exists();
    ASSIGN_OR_RETURN(const auto plan,
                     runspec::MakeSamplerPlan(shape, {.precision = precision_,
                                                      .threads = options.threads,
                                                      .streams_max = options.slots,
                                                      .prompt_rows = prompt_rows(),
                                                      .memory_bytes = options.memory_bytes}));
    backend_ = MakeSamplerBackend(shape, precision_, options.threads, on_device_);
    const DataType compute_type =
        precision_ == runspec::Precision::kBf16 ? DataType::kBfloat16 : DataType::kFloat32;
    auto decoder = std::make_unique<Gpt2Decoder>(
        DecoderOptions{.shape = shape, .slots = plan.streams, .length = shape.context},
        compute_type, *backend_);
    RETURN_IF_ERROR(LoadWeights(directory_, manifest_, *decoder));
    decoder_ = std::move(decoder);
    return OkStatus();
  } catch (const std::exception& error) {
    return ResourceExhausted("cannot make the model of {}: {}", directory_, error.what());
  }
}

int64_t SamplerModel::prompt_rows() const {
  return on_device_ ? kPromptRowsOnDevice : kPromptRowsOnCpu;
}

uint64_t SamplerModel::memory_bytes() const {
  return static_cast<uint64_t>(backend_->allocated_bytes());
}

}  // namespace gp::engine
