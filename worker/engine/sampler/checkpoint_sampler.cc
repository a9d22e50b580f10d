#include "worker/engine/sampler/checkpoint_sampler.h"

#include <exception>

#include "base/file.h"
#include "formats/checkpoint_directory.h"
#include "worker/engine/checkpoint/checkpoint_reader.h"
#include "worker/engine/checkpoint/local_storage.h"
#include "worker/engine/model/make_language_model.h"
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

// The engine reports errors by exception.
StatusOr<std::unique_ptr<LanguageModel>> MakeModel(const runspec::ModelShape& shape, int threads) {
  try {
    return MakeLanguageModel(
        {.shape = shape, .micro_batch = 1, .sequence = shape.context, .threads = threads});
  } catch (const std::exception& error) {
    return ResourceExhausted("cannot make the model: {}", error.what());
  }
}

}  // namespace

StatusOr<CheckpointSampler> CheckpointSampler::Open(const std::string& directory, int threads) {
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
  ASSIGN_OR_RETURN(sampler.model_, MakeModel(sampler.manifest_.shape, threads));
  RETURN_IF_ERROR(
      ReadWeights(storage, sampler.directory_, sampler.manifest_, sampler.model_->parameters()));
  sampler.model_->ParametersChanged();
  return sampler;
}

StatusOr<std::string> CheckpointSampler::Sample(const SampleRequest& request) {
  auto prompt = tokenizer_->Encode(request.prompt);
  if (!prompt.ok()) return WithContext(prompt.status(), "prompt");
  if (prompt->empty()) return InvalidArgument("the prompt is empty; give at least one character");
  const Generation options{.sampling = request.sampling,
                           .max_tokens = request.max_tokens,
                           .window = manifest_.shape.context,
                           .seed = request.seed,
                           .sample = request.sample};
  return request.prompt + tokenizer_->Decode(GenerateTokens(*model_, *prompt, options));
}

}  // namespace gp::engine
