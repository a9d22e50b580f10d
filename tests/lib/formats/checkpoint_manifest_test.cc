#include "formats/checkpoint_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gp::formats {
namespace {

using ::testing::HasSubstr;

CheckpointManifest Example() {
  CheckpointManifest manifest;
  manifest.run_id = "0123456789";
  manifest.run_name = "demo";
  manifest.incarnation = "abc";
  manifest.epoch = 3;
  manifest.step = 250;
  manifest.tokens = 192000;
  manifest.validation_loss = 1.9005;
  manifest.shape = {.layers = 4,
                    .heads = 4,
                    .channels = 128,
                    .context = 64,
                    .vocabulary = 65,
                    .vocabulary_padded = 128,
                    .bias = false,
                    .gelu = runspec::Gelu::kErf,
                    .dropout = 0.1,
                    .tied_head = false};
  manifest.data_fingerprint = "d";
  manifest.tokenizer_fingerprint = "t";
  manifest.record = {.step_budget = 2000};
  manifest.files = {{"model.safetensors", 100, std::string(64, 'a')},
                    {"optimizer.safetensors", 200, std::string(32, 'c'), DigestKind::kXxh3},
                    {"tokenizer.json", 7, std::string(64, 'b')}};
  return manifest;
}

TEST(CheckpointManifest, ComesBackEqual) {
  CheckpointManifest manifest = Example();
  EXPECT_EQ(*ParseManifest(FormatManifest(manifest), "m"), manifest);
  EXPECT_EQ(manifest.SizeBytes(), 307u);
  manifest.validation_loss = std::nullopt;
  EXPECT_EQ(*ParseManifest(FormatManifest(manifest), "m"), manifest);
}

TEST(CheckpointManifest, EveryTruncationIsRefused) {
  const std::string text = FormatManifest(Example());
  // The last byte is a newline, which JSON does not need, so keep at least everything before it.
  for (size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_EQ(ParseManifest(text.substr(0, size), "m").status().code(), StatusCode::kDataLoss)
        << size;
  }
}

TEST(CheckpointManifest, NamesEachKeyThatIsMissing) {
  const auto json = nlohmann::json::parse(FormatManifest(Example()));
  for (const auto& [key, value] : json.items()) {
    if (key == "validation_loss") continue;
    auto without = json;
    without.erase(key);
    const auto manifest = ParseManifest(without.dump(), "/run/manifest.json");
    ASSERT_FALSE(manifest.ok()) << key;
    EXPECT_THAT(Message(manifest.status()), HasSubstr("'" + key + "'"));
    EXPECT_THAT(Message(manifest.status()), HasSubstr("/run/manifest.json"));
  }
}

TEST(CheckpointManifest, RefusesHostileValues) {
  const auto with = [](const char* pointer, nlohmann::json value) {
    auto json = nlohmann::json::parse(FormatManifest(Example()));
    json[nlohmann::json::json_pointer(pointer)] = std::move(value);
    return ParseManifest(json.dump(), "m").status();
  };
  EXPECT_FALSE(with("/step", -1).ok());
  EXPECT_FALSE(with("/step", "250").ok());
  EXPECT_FALSE(with("/model/n_layer", 1u << 30).ok());
  EXPECT_FALSE(with("/model/n_head", 0).ok());
  EXPECT_FALSE(with("/model/n_head", 3).ok());
  EXPECT_FALSE(with("/model/gelu", "relu").ok());
  EXPECT_FALSE(with("/files/0/name", "../../etc/passwd").ok());
  EXPECT_FALSE(with("/files", 5).ok());
  EXPECT_FALSE(with("/record", nlohmann::json::array()).ok());
  EXPECT_EQ(with("/version", 1).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(with("/version", 3).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(with("/a_later_key", 1).ok());
}

}  // namespace
}  // namespace gp::formats
