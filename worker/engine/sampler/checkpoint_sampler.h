// CheckpointSampler: a model and its tokenizer from a checkpoint directory alone, ready to continue
// prompts. One thread calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/checkpoint_manifest.h"
#include "tokenizer/tokenizer.h"
#include "worker/engine/model/language_model.h"
#include "worker/engine/sampler/token_sampler.h"

namespace gp::engine {

struct SampleRequest {
  std::string prompt = "\n";
  SamplingOptions sampling;
  int64_t max_tokens = 200;
  uint64_t seed = 1337;
  uint64_t sample = 0;  // which of the samples of this seed
};

class CheckpointSampler {
 public:
  // `directory` is a checkpoint, or a run's directory: then its newest complete checkpoint is
  // taken. NotFound when there is none; DataLoss, naming the file, when it is damaged. Every file
  // that is read is verified.
  static StatusOr<CheckpointSampler> Open(const std::string& directory, int threads);

  // The prompt and what follows it. InvalidArgument for a prompt that the vocabulary cannot express
  // or that is empty. Equal requests give equal text.
  StatusOr<std::string> Sample(const SampleRequest& request);

  const formats::CheckpointManifest& manifest() const { return manifest_; }
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  formats::CheckpointManifest manifest_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<LanguageModel> model_;
};

}  // namespace gp::engine
