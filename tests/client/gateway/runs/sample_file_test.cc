#include "client/gateway/runs/sample_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/text/utf8.h"

namespace gp::gateway {
namespace {

class SampleFileTest : public ::testing::Test {
 protected:
  SampleFileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "samples-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~SampleFileTest() override { std::filesystem::remove_all(directory_); }

  std::string Path() const { return directory_ + "/samples.jsonl"; }
  std::deque<Sample> Read(const std::string& text) {
    std::ofstream(Path()) << text;
    return ReadNewestSamples(Path()).value();
  }

  std::string directory_;
};

std::string Line(int step, const std::string& text) {
  return R"({"step": )" + std::to_string(step) + R"(, "prompt": "p", "text": ")" + text + "\"}\n";
}

TEST_F(SampleFileTest, SamplesAreReadInTheirOrder) {
  const auto samples = Read(Line(100, "one") + Line(200, "two\\n"));
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].step, 100);
  EXPECT_EQ(samples[1].text, "two\n");
}

TEST_F(SampleFileTest, WhatIsNoSampleIsPassedOver) {
  EXPECT_EQ(
      Read("\n[]\n{\"step\": \"x\"}\n{\"step\": 1}\n" + Line(5, "five") + "{\"step\": 6, \"te")
          .size(),
      1u);
  EXPECT_TRUE(Read("").empty());
}

TEST_F(SampleFileTest, ALongFileIsReadFromItsEndAndLongTextsAreCutBetweenCharacters) {
  std::string text, word;
  for (int i = 0; i < 5000; ++i) word += "\xc3\xa9";
  for (int step = 1; step <= 300; ++step) text += Line(step, "a" + word);
  const auto samples = Read(text);
  EXPECT_EQ(samples.size(), kSamplesMax);
  EXPECT_EQ(samples.back().step, 300);
  EXPECT_LE(samples.back().text.size(), kSampleBytesMax);
  EXPECT_EQ(ValidUtf8(samples.back().text, '?'), samples.back().text);
}

TEST_F(SampleFileTest, AMissingFileIsNotFound) {
  EXPECT_EQ(ReadNewestSamples(Path()).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace gp::gateway
