#include "worker/engine/sampler/checkpoint_sampler.h"

#include <algorithm>
#include <exception>
#include <new>

#include "base/file.h"
#include "formats/checkpoint_directory.h"
#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/checkpoint/checkpoint_reader.h"
#include "worker/engine/checkpoint/local_storage.h"
#include "worker/engine/checkpoint/recorded_precision.h"
#include "worker/engine/model/gpt2_decoder.h"
#include "worker/engine/sampler/token_generator.h"

namespace gp::engine {
namespace {

// The checkpoint that `directory` is or holds.
StatusOr<std::string> FindCheckpoint(const std::string& directory) {
  if (FileExists(JoinPath(directory, formats::kManifestName))) return directory;
  for (const std::string& parent : {JoinPath(directory, "checkpoints"), directory}) {
    ASSIGN_OR_RETURN(const auto newest, formats::FindNewestCheckpoint(parent));
    if (newest) return *newest;
  }
  return NotFound(
      "{} holds no complete checkpoint (a directory with a {}); name a checkpoint or a run's "
      "directory",
      directory, formats::kManifestName);
}

// What comes nearest here to a precision that only GPUs have, without losing digits.
runspec::Precision OnCpu(runspec::Precision precision) {
  if (precision == runspec::Precision::kFp8) return runspec::Precision::kBf16;
  return precision == runspec::Precision::kBf16 ? precision : runspec::Precision::kFp32;
}

StatusOr<runspec::Precision> Settle(runspec::Precision precision,
                                    const formats::CheckpointManifest& manifest) {
  if (precision != runspec::Precision::kAuto) return precision;
  ASSIGN_OR_RETURN(const auto recorded, RecordedPrecision(manifest));
  return OnCpu(recorded.value_or(runspec::Precision::kFp32));
}

// What writes text with a model's weights, which lie on the backend.
struct Writer {
  std::unique_ptr<Backend> backend;
  std::span<float> parameters;       // zero
  uint16_t* working_copy = nullptr;  // absent in fp32
  std::unique_ptr<Decoder> decoder;

  void RoundWorkingCopy() {
    if (working_copy == nullptr) return;
    backend->Round(std::ssize(parameters), working_copy, parameters.data(), StochasticRounding{});
  }
};

// The engine reports errors by exception.
StatusOr<Writer> MakeWriter(const runspec::ModelShape& shape, const SamplerOptions& options) {
  try {
    Writer writer{.backend = MakeCpuBackend({.threads = options.threads})};
    const int64_t count = runspec::MakeParameterLayout(shape).total_count;
    const auto allocate = [&](int64_t element_bytes) {
      return writer.backend->Allocate(count * element_bytes);
    };
    writer.parameters = {static_cast<float*>(allocate(sizeof(float))), static_cast<size_t>(count)};
    if (options.precision == runspec::Precision::kBf16) {
      writer.working_copy = static_cast<uint16_t*>(allocate(sizeof(uint16_t)));
    }
    writer.decoder = std::make_unique<Gpt2Decoder>(
        DecoderOptions{.shape = shape, .slots = options.slots, .length = shape.context},
        DecoderWeights{writer.parameters.data(), writer.working_copy}, *writer.backend);
    return writer;
  } catch (const std::exception& error) {
    return ResourceExhausted("cannot make the model: {}", error.what());
  }
}

}  // namespace

StatusOr<CheckpointSampler> CheckpointSampler::Open(const std::string& directory,
                                                    const SamplerOptions& options) {
  LocalStorage storage;
  CheckpointSampler sampler;
  ASSIGN_OR_RETURN(sampler.directory_, FindCheckpoint(directory));
  ASSIGN_OR_RETURN(sampler.manifest_, formats::ReadManifest(sampler.directory_));
  ASSIGN_OR_RETURN(const std::string tokenizer,
                   ReadTokenizer(storage, sampler.directory_, sampler.manifest_));
  ASSIGN_OR_RETURN(sampler.tokenizer_, ParseTokenizer(tokenizer));
  if (sampler.tokenizer_->vocabulary_size() > sampler.manifest_.shape.vocabulary) {
    return DataLoss("{}: the tokenizer has {} ids, the model {}", sampler.directory_,
                    sampler.tokenizer_->vocabulary_size(), sampler.manifest_.shape.vocabulary);
  }
  ASSIGN_OR_RETURN(sampler.precision_, Settle(options.precision, sampler.manifest_));
  SamplerOptions settled = options;
  settled.precision = sampler.precision_;
  ASSIGN_OR_RETURN(Writer writer, MakeWriter(sampler.manifest_.shape, settled));
  RETURN_IF_ERROR(ReadWeights(storage, sampler.directory_, sampler.manifest_, writer.parameters));
  writer.RoundWorkingCopy();
  sampler.backend_ = std::move(writer.backend);
  sampler.decoder_ = std::move(writer.decoder);
  return sampler;
}

StatusOr<std::vector<std::string>> CheckpointSampler::Sample(
    std::span<const SampleRequest> requests) {
  std::vector<std::string> texts;
  const auto slots = static_cast<size_t>(decoder_->slots());
  for (size_t first = 0; first < requests.size(); first += slots) {
    const auto group = requests.subspan(first, std::min(slots, requests.size() - first));
    RETURN_IF_ERROR(SampleGroup(group, texts));
  }
  return texts;
}

// At most as many as there are slots.
Status CheckpointSampler::SampleGroup(std::span<const SampleRequest> requests,
                                      std::vector<std::string>& texts) {
  std::vector<std::vector<int32_t>> prompts;
  for (const SampleRequest& request : requests) {
    auto prompt = tokenizer_->Encode(request.prompt);
    if (!prompt.ok()) return WithContext(prompt.status(), "prompt");
    if (prompt->empty()) return InvalidArgument("the prompt is empty; give at least one character");
    prompts.push_back(std::move(*prompt));
  }
  std::vector<Generation> generations;
  for (size_t i = 0; i < requests.size(); ++i) {
    generations.push_back({.prompt = prompts[i],
                           .sampling = requests[i].sampling,
                           .max_tokens = requests[i].max_tokens,
                           .seed = requests[i].seed,
                           .sample = requests[i].sample});
  }
  const auto written = GenerateTokens(*decoder_, generations);
  for (size_t i = 0; i < requests.size(); ++i) {
    texts.push_back(requests[i].prompt + tokenizer_->Decode(written[i]));
  }
  return OkStatus();
}

}  // namespace gp::engine
