// Checkpoints that the fake sampler opens: a manifest and a tokenizer, without weights.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/file.h"
#include "formats/checkpoint_directory.h"
#include "formats/sha256.h"
#include "tokenizer/byte_tokenizer.h"

namespace gp::gateway {

struct CheckpointFiles {
  int64_t step = 1;
  std::string fake;  // how the fake sampler misbehaves for it (tests/fakes/fake_sampler.cc)
  int64_t context = 64;
  std::optional<double> validation_loss;
  std::string tokenizer = ByteTokenizer().Serialized();
  int64_t vocabulary = 256;
};

inline void WriteCheckpoint(const std::string& directory, const CheckpointFiles& files = {}) {
  formats::CheckpointManifest manifest;
  manifest.run_id = "r";
  manifest.step = files.step;
  manifest.validation_loss = files.validation_loss;
  manifest.shape = {.layers = 1, .heads = 1, .channels = 16, .context = files.context};
  manifest.shape.vocabulary = manifest.shape.vocabulary_padded = files.vocabulary;
  manifest.record.device = files.fake;
  manifest.tokenizer_fingerprint = formats::Sha256Hex(files.tokenizer);
  ASSERT_TRUE(MakeDirectories(directory).ok());
  const auto add = [&](const char* name, const std::string& content) {
    EXPECT_TRUE(WriteFileAtomically(JoinPath(directory, name), content).ok());
    manifest.files.push_back({name, content.size(), formats::Sha256Hex(content)});
  };
  add(formats::kTokenizerName, files.tokenizer);
  add(formats::kModelName, fmt::format("weights of step {}", files.step));
  EXPECT_TRUE(
      WriteFileAtomically(JoinPath(directory, formats::kManifestName), FormatManifest(manifest))
          .ok());
}

}  // namespace gp::gateway
