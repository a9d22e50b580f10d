#include "worker/trainer/checkpoint_visibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/file.h"
#include "base/random_id.h"
#include "formats/checkpoint_manifest.h"
#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/collectives/rank_threads.h"
#include "worker/engine/step/training_error.h"

namespace gp::engine {
namespace {

using testing::HasSubstr;
using Look = std::function<std::optional<std::string>()>;

constexpr VisibilityTimeout kShort{.checks = 4, .pause = std::chrono::milliseconds(1)};

// A check that sees the checkpoint from check number `look` on, counted from 1.
Look SeesAt(int look) {
  return [left = look]() mutable -> std::optional<std::string> {
    if (--left <= 0) return std::nullopt;
    return "model.safetensors is missing";
  };
}

// The error that each rank threw; empty if it continued.
std::vector<std::string> Agree(const std::vector<Look>& looks) {
  const int ranks = static_cast<int>(looks.size());
  constexpr int kShards = 4;  // a power of two, at least the number of ranks
  const auto group = MakeLocalGroup(ranks, kShards);
  std::vector<std::string> errors(looks.size());
  OnEachRank(group, [&](size_t rank) {
    try {
      AwaitCheckpointVisible("step-7", looks[rank], *group[rank], kShort);
    } catch (const TrainingError& error) {
      EXPECT_EQ(error.cause(), contract::ExitCause::kStorage);
      errors[rank] = error.what();
    }
  });
  return errors;
}

TEST(CheckpointVisibility, ARankThatSeesItLaterIsWaitedFor) {
  EXPECT_THAT(Agree({SeesAt(1), SeesAt(3), SeesAt(4)}), testing::Each(""));
}

TEST(CheckpointVisibility, ARankThatNeverSeesItSaysWhatIsMissingThere) {
  const auto errors = Agree({SeesAt(1), SeesAt(9)});
  EXPECT_EQ(errors[0], "");
  EXPECT_THAT(errors[1], HasSubstr("model.safetensors is missing"));
  EXPECT_THAT(errors[1], HasSubstr("another rank sees it"));
}

TEST(CheckpointVisibility, WhatNobodySeesIsLeftToWhoReadsIt) {
  EXPECT_THAT(Agree({SeesAt(9), SeesAt(9)}), testing::Each(""));
}

class MissingFileTest : public testing::Test {
 protected:
  MissingFileTest() {
    formats::CheckpointManifest manifest;
    manifest.files = {{.name = "model.safetensors", .size_bytes = 5}};
    EXPECT_TRUE(MakeDirectories(directory_).ok());
    Write("manifest.json", formats::FormatManifest(manifest));
  }
  ~MissingFileTest() override { RemoveTree(directory_).IgnoreError(); }

  void Write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(WriteFileAtomically(JoinPath(directory_, name), text).ok());
  }
  std::string Missing() const {
    return MissingOfCheckpoint({.directory = directory_}).value_or("");
  }

  const std::string directory_ = testing::TempDir() + "gp-visibility-" + RandomId(8);
};

TEST_F(MissingFileTest, AFileThatTheManifestListsIsNamed) {
  EXPECT_THAT(Missing(), HasSubstr("model.safetensors"));
  Write("model.safetensors", "1234");
  EXPECT_THAT(Missing(), HasSubstr("4 of 5 bytes"));
  Write("model.safetensors", "12345");
  EXPECT_EQ(Missing(), "");
}

TEST_F(MissingFileTest, WithoutAManifestThatIsNamed) {
  ASSERT_TRUE(RemoveTree(JoinPath(directory_, "manifest.json")).ok());
  EXPECT_THAT(Missing(), HasSubstr("manifest.json"));
}

}  // namespace
}  // namespace gp::engine
