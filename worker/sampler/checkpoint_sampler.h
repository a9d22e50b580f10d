// CheckpointSampler: continues prompts with the model of a checkpoint, each to the end of its text.
// One thread calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "worker/sampler/sampler_model.h"
#include "worker/sampler/token_sampler.h"

namespace gp::engine {

struct SampleRequest {
  std::string prompt = "\n";
  SamplingOptions sampling;
  int64_t max_tokens = 200;
  uint64_t seed = 1337;
  uint64_t sample = 0;              // index among the samples of this seed
  std::vector<std::string> stop;    // the text ends before the first of them
  bool ignore_end_of_text = false;  // else the end-of-text token ends the text
};

class CheckpointSampler {
 public:
  // Like SamplerModel::Open.
  static StatusOr<CheckpointSampler> Open(const std::string& directory,
                                          const SamplerOptions& options = {});

  // Each request's prompt with its continuation; many requests at a time cost little more than one.
  // InvalidArgument for a prompt that the vocabulary cannot express or that is empty; DataLoss for
  // weights that give NaN. Equal requests give equal text, whatever the others are, if
  // model().reproducible().
  StatusOr<std::vector<std::string>> Sample(std::span<const SampleRequest> requests);

  const SamplerModel& model() const { return model_; }

 private:
  explicit CheckpointSampler(SamplerModel model) : model_(std::move(model)) {}

  SamplerModel model_;
};

}  // namespace gp::engine
