// CheckpointSampler: a model and its tokenizer from a checkpoint directory alone, ready to continue
// prompts. One thread calls.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/checkpoint_manifest.h"
#include "runspec/run_spec.h"
#include "tokenizer/tokenizer.h"
#include "worker/engine/backend/backend.h"
#include "worker/engine/model/decoder.h"
#include "worker/engine/sampler/token_sampler.h"

namespace gp::engine {

struct SampleRequest {
  std::string prompt = "\n";
  SamplingOptions sampling;
  int64_t max_tokens = 200;
  uint64_t seed = 1337;
  uint64_t sample = 0;  // which of the samples of this seed
};

struct SamplerOptions {
  int threads = 1;
  int64_t slots = 1;  // requests that are answered at a time
  // kAuto: what the checkpoint's run computed with, fp32 where its manifest does not say.
  runspec::Precision precision = runspec::Precision::kAuto;
};

class CheckpointSampler {
 public:
  // `directory` is a checkpoint, or a run's directory: then its newest complete checkpoint is
  // taken. NotFound when there is none; DataLoss, naming the file, when it is damaged. Every file
  // that is read is verified.
  static StatusOr<CheckpointSampler> Open(const std::string& directory,
                                          const SamplerOptions& options = {});

  // Each request's prompt and what follows it; many requests at a time cost little more than one.
  // InvalidArgument for a prompt that the vocabulary cannot express or that is empty. Equal
  // requests give equal text, whatever the others are.
  StatusOr<std::vector<std::string>> Sample(std::span<const SampleRequest> requests);

  const formats::CheckpointManifest& manifest() const { return manifest_; }
  const std::string& directory() const { return directory_; }
  runspec::Precision precision() const { return precision_; }  // never kAuto

 private:
  Status SampleGroup(std::span<const SampleRequest> requests, std::vector<std::string>& texts);

  std::string directory_;
  formats::CheckpointManifest manifest_;
  runspec::Precision precision_ = runspec::Precision::kFp32;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace gp::engine
