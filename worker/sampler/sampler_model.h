// SamplerModel: a model and its tokenizer from a checkpoint directory alone, ready to write text.
// On the process' device if there is one, else on the CPU. One thread uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "formats/checkpoint_manifest.h"
#include "plan/run_spec.h"
#include "tokenizer/tokenizer.h"
#include "worker/engine/backend/backend.h"
#include "worker/engine/model/decoder.h"

namespace gp::engine {

struct SamplerOptions {
  int threads = 1;
  int64_t slots = 1;  // texts that are written at a time, at most
  // Memory for weights, cache and buffers; the model gets fewer slots when they do not fit.
  uint64_t memory_bytes = UINT64_MAX;
  // kAuto: the precision of the checkpoint's run; fp32 if its manifest does not record it.
  runspec::Precision precision = runspec::Precision::kAuto;
};

class SamplerModel {
 public:
  // `directory` is a checkpoint, or a run's directory, of which the newest complete checkpoint is
  // used. NotFound when there is none; DataLoss, naming the file, when it is damaged; verifies
  // every file that it reads. ResourceExhausted when the memory cannot hold one text.
  static StatusOr<SamplerModel> Open(const std::string& directory,
                                     const SamplerOptions& options = {});

  const formats::CheckpointManifest& manifest() const { return manifest_; }
  const std::string& directory() const { return directory_; }
  runspec::Precision precision() const { return precision_; }  // kFp32 or kBf16
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const Backend& backend() const { return *backend_; }
  Decoder& decoder() { return *decoder_; }

  // True when a text does not depend on the other texts that are written at the same time. A device
  // does not guarantee this.
  bool reproducible() const { return !on_device_; }
  // The most tokens of prompts for one pass: many, to use the arithmetic units, but so few that
  // texts in progress do not stall.
  int64_t prompt_rows() const;
  uint64_t memory_bytes() const;

 private:
  Status MakeDecoder(const SamplerOptions& options);

  std::string directory_;
  formats::CheckpointManifest manifest_;
  runspec::Precision precision_ = runspec::Precision::kFp32;
  bool on_device_ = false;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace gp::engine
