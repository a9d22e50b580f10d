// A checkpoint on disk with correct sizes and digests, but without real tensors.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "formats/checkpoint_directory.h"
#include "formats/sha256.h"

namespace gp::formats {

// Writes the checkpoint to `directory`; returns the SHA-256 of its manifest.
inline std::string WriteSampleCheckpoint(const std::string& directory, int64_t step) {
  CheckpointManifest manifest;
  manifest.run_id = "r";
  manifest.step = step;
  EXPECT_TRUE(MakeDirectories(directory).ok());
  for (const char* name : {kModelName, kOptimizerName, kTokenizerName}) {
    const std::string content = fmt::format("{} of step {}", name, step);
    EXPECT_TRUE(WriteFileAtomically(JoinPath(directory, name), content).ok());
    manifest.files.push_back({name, content.size(), Sha256Hex(content)});
  }
  const std::string text = FormatManifest(manifest);
  EXPECT_TRUE(WriteFileAtomically(JoinPath(directory, kManifestName), text).ok());
  return Sha256Hex(text);
}

// Changes the file's content but not its size; a second call restores it.
inline void DamageFile(const std::string& path) {
  std::string bytes = ReadFile(path).value_or("");
  ASSERT_FALSE(bytes.empty()) << path;
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
}

}  // namespace gp::formats
